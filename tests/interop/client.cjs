// SPDX-License-Identifier: MIT
/*
 * The common part of the programs that use npm's lock clients, node-redlock.cjs
 * and semaphore.cjs. Usage:
 *
 *   node CLIENT SOCKET KEY TTL_MS VERB...
 *
 *   hold STARTED END   take the lock, waiting if need be; write its token to
 *                      the file STARTED; release it when the file END exists
 *   try                take it and release it, without waiting
 *   count DIR N        N times: take it, work (see work.sh), release it
 *
 * Status 75: not acquired, at once or (hold, count) within 20 s. Any other
 * failure, also the loss of the lock before its release, is 1. RETRY_MS in the
 * environment: the wait between attempts, instead of the library's.
 */
'use strict';

const { spawnSync } = require('child_process');
const fs = require('fs');
const path = require('path');
const { setTimeout: pause } = require('timers/promises');
const Redis = require('ioredis');

const LIMIT_MS = 20000;
const BUSY = 75;
const retry_ms = process.env.RETRY_MS && Number(process.env.RETRY_MS);

// take(redis, key, ttl_ms, limit_ms, retry_ms) gives { token, release }, or
// null when somebody else has it; retry_ms is undefined, or RETRY_MS.
async function main(take) {
	const [script, socket, key, ttl, verb, ...args] = process.argv.slice(1);
	const name = path.basename(script, '.cjs');
	const redis = new Redis(socket, { retryStrategy: null });
	const acquire = async (limit_ms) => {
		const lock = await take(redis, key, Number(ttl), limit_ms, retry_ms);
		if (!lock) {
			console.error(`${name}: busy`);
			process.exit(BUSY);
		}
		return lock;
	};

	if (verb === 'hold') {
		const [started, end] = args;
		const lock = await acquire(LIMIT_MS);
		fs.writeFileSync(`${started}.new`, lock.token);
		fs.renameSync(`${started}.new`, started);
		while (!fs.existsSync(end))
			await pause(10);
		await lock.release();
	} else if (verb === 'try') {
		await (await acquire(0)).release();
	} else if (verb === 'count') {
		const [dir, n] = args;
		for (let i = 0; i < Number(n); i++) {
			const lock = await acquire(LIMIT_MS);
			const work = path.join(__dirname, 'work.sh');
			if (spawnSync(work, [dir, name]).status !== 0)
				throw new Error('the work failed');
			await lock.release();
			// or it would have it again before others look
			await pause(Math.random() * 100);
		}
	} else {
		throw new Error(`no such verb: ${verb}`);
	}
	await redis.quit();
}

module.exports = (take) =>
	main(take).catch((error) => {
		console.error(error);
		process.exit(1);
	});
