-- Harmless calls of the commands that only readers and writers need.
{'ZADD', key, 'XX', '1', ''},
{'ZSCORE', key, ''},
{'ZREM', key, ''},
{'ZREMRANGEBYSCORE', key, '-inf', '0'},
{'ZRANGE', key, '0', '0'}
