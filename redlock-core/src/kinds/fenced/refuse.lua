if refusal then return refusal end
