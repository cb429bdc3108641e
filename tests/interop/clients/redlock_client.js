// node-redlock or its fork @sesamecare-oss/redlock, driven by lines: `src/lib.rs` has the protocol.
//
//     node redlock_client.js NODE_MODULES PACKAGE URL…

'use strict';

const { createRequire } = require('node:module');
const { randomUUID } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');
const { setImmediate: turn, setTimeout: sleep } = require('node:timers/promises');

const [modules, name, ...urls] = process.argv.slice(2);
const load = createRequire(path.join(modules, 'here.js'));
const { Redis } = load('ioredis');
const loaded = load(name);
const Redlock = loaded.Redlock ?? loaded.default;

const clients = urls.map((url) => new Redis(url));
// A server that is down is a vote against, and no more.
clients.forEach((client) => client.on('error', () => {}));
const redlock = new Redlock(clients);
const reason = (error) => `${error.name}: ${error.message}`.replaceAll('\n', ' ');
let lock;

const commands = {
  async try(key, ttl) {
    lock = await redlock.acquire([key], Number(ttl), { retryCount: 0 });
    return '';
  },
  async hold(key, ttl) {
    lock = await redlock.acquire([key], Number(ttl), { retryCount: -1 });
    return '';
  },
  async extend(ttl) {
    lock = await redlock.extend(lock, Number(ttl), { retryCount: 0 });
    return '';
  },
  async release() {
    await redlock.release(lock, { retryCount: 0 });
    return '';
  },
  async contend(key, ttl, ms, journal) {
    const log = fs.openSync(journal, 'a');
    const end = Date.now() + Number(ms);
    let turns = 0;
    while (Date.now() < end) {
      let held;
      try {
        // The client's own ten retries, 200 ± 100 ms apart.
        held = await redlock.acquire([key], Number(ttl));
      } catch {
        continue;
      }
      const id = randomUUID();
      fs.writeSync(log, `enter ${id}\n`);
      await sleep(2);
      fs.writeSync(log, `leave ${id}\n`);
      turns += 1;
      await redlock.release(held);
    }
    fs.closeSync(log);
    return String(turns);
  },
  async measure(key, own, count, end) {
    const last = BigInt(end);
    const now = () => process.hrtime.bigint();
    const calls = [];
    const failures = [];
    // The client's own ten retries, again and again: only then it releases what it has on a minority.
    const acquire = async (name) => {
      for (;;) {
        try {
          return await redlock.acquire([name], 10_000);
        } catch (error) {
          if (error.name !== 'ExecutionError') throw error;
        }
      }
    };
    const call = async (caller) => {
      const name = own === 'own' ? `${key}:${caller}` : key;
      for (let asked = now(); asked < last; asked = now()) {
        try {
          const held = await acquire(name);
          const acquired = now();
          await turn();
          const releasing = now();
          await redlock.release(held);
          calls.push([caller, asked, acquired, releasing, now()].map(Number));
        } catch (error) {
          failures.push(reason(error));
          await sleep(10);
        }
      }
    };
    await Promise.all(Array.from({ length: Number(count) }, (_, caller) => call(caller)));
    return JSON.stringify({ calls, failures: failures.length, first_failure: failures[0] ?? null });
  },
};

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [command, ...values] = line.split(' ');
    try {
      console.log(`ok ${await commands[command](...values)}`);
    } catch (error) {
      const known = ['ExecutionError', 'ResourceLockedError'].includes(error.name);
      console.log(`${known ? 'refused' : 'error'} ${reason(error)}`);
    }
  }
  clients.forEach((client) => client.disconnect());
}

main();
