-- Calls of the commands that readers and writers need beside those of every lock. They change nothing.
{'ZADD', key, 'XX', '1', ''},
{'ZSCORE', key, ''},
{'ZREM', key, ''},
{'ZREMRANGEBYSCORE', key, '-inf', '0'},
{'ZRANGE', key, '0', '0'}
