// SPDX-License-Identifier: MIT
// A program that locks with npm's redlock. Usage: see client.cjs.
'use strict';

const { default: Redlock, ExecutionError, ResourceLockedError } =
	require('redlock');

// A server that did not answer is not a lock that somebody else has.
async function only_busy(error) {
	if (!(error instanceof ExecutionError))
		return false;
	for (const attempt of await Promise.all(error.attempts))
		for (const reason of attempt.votesAgainst.values())
			if (!(reason instanceof ResourceLockedError))
				return false;
	return true;
}

async function take(redis, key, ttl_ms, limit_ms, retry_ms = 200) {
	const redlock = new Redlock([redis], {
		retryCount: Math.ceil(limit_ms / retry_ms),
		retryDelay: retry_ms,
		retryJitter: retry_ms / 2,
	});

	try {
		const lock = await redlock.acquire([key], ttl_ms);

		return {
			token: lock.value,
			release: () => redlock.release(lock, { retryCount: 0 }),
		};
	} catch (error) {
		if (await only_busy(error))
			return null;
		throw error;
	}
}

require('./client.cjs')(take);
