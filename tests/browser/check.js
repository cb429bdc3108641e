// What is wrong with the page as it is shown, as a list of texts.
(() => {
    const found = [];
    const width = document.documentElement.clientWidth;
    const named = element => `${element.tagName} ${JSON.stringify(element.textContent.slice(0, 60))}`;
    if (document.documentElement.scrollWidth > width) found.push("it scrolls sideways");
    if (document.body.innerText.includes("`")) found.push("it has a backtick");

    const rgba = color => color.match(/[\d.]+/g).map(Number);
    const luminance = ([r, g, b]) => {
        const [x, y, z] = [r, g, b].map(it => it / 255).map(it => it <= .03928 ? it / 12.92 : ((it + .055) / 1.055) ** 2.4);
        return .2126 * x + .7152 * y + .0722 * z;
    };
    const background = element => {
        const [r, g, b, a = 1] = rgba(getComputedStyle(element).backgroundColor);
        return a > 0 || !element.parentElement ? [r, g, b] : background(element.parentElement);
    };
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const text = texts.currentNode, element = text.parentElement;
        const range = document.createRange();
        range.selectNodeContents(text);
        const around = (element.closest("td, th, nav, p, h1, h2") || document.body).getBoundingClientRect();
        for (const box of range.getClientRects()) {
            const isInside = box.left >= around.left - 1 && box.right <= around.right + 1 && box.bottom <= around.bottom + 1;
            if (!isInside || box.left < 0 || box.right > width) found.push(`cut or over its box: ${named(element)}`);
        }
        const [low, high] = [luminance(rgba(getComputedStyle(element).color)), luminance(background(element))].sort((a, b) => a - b);
        const contrast = (high + .05) / (low + .05);
        if (range.getClientRects().length && contrast < 4.5) found.push(`contrast ${contrast.toFixed(1)}: ${named(element)}`);
    }
    for (const element of document.body.querySelectorAll("*")) {
        if (element.clientWidth > 0 && element.scrollWidth > element.clientWidth) found.push(`cut: ${named(element)}`);
    }
    const links = document.querySelectorAll("a, button, input, summary, [tabindex]");
    if (links.length < 4) found.push("it has no links");
    for (const link of links) {
        link.focus();
        if (!getComputedStyle(link).outline.includes("solid 2px")) found.push(`the focus is not seen: ${named(link)}`);
    }
    const isDark = luminance(background(document.body)) < .2;
    if (isDark !== matchMedia("(prefers-color-scheme: dark)").matches) found.push("it has the other color scheme");
    return found;
})()
