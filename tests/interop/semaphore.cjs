// SPDX-License-Identifier: MIT
// A program that locks with the mutex of npm's redis-semaphore, whose key in
// the server is mutex:KEY. Usage: see client.cjs.
'use strict';

const { Mutex } = require('redis-semaphore');

async function take(redis, key, ttl_ms, limit_ms, retry_ms = 10) {
	const mutex = new Mutex(redis, key, {
		lockTimeout: ttl_ms,
		acquireTimeout: Math.max(limit_ms, 1000),
		acquireAttemptsLimit: limit_ms ? Infinity : 1,
		retryInterval: retry_ms,
		onLockLost: (error) => {
			throw error;
		},
	});

	return (await mutex.tryAcquire())
		? { token: mutex.identifier, release: () => mutex.release() }
		: null;
}

require('./client.cjs')(take);
