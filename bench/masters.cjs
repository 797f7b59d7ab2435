// SPDX-License-Identifier: MIT
/*
 * A contender of masters.sh with npm's redlock:
 *
 *   node masters.cjs DIR NAME KEY RETRY_MS "MASTER..." [COMMAND]
 *
 * Connects to the sockets DIR/MASTER.sock, makes DIR/NAME.ready and waits for
 * DIR/go. Then it takes the lock and gives it back, again and again, until
 * DIR/stop is there; COMMAND, if any, runs under it. Writes how often it had
 * the lock and how often it gave up. RETRY_MS "default": as the library comes.
 */
'use strict';

const { spawn } = require('child_process');
const fs = require('fs');
const path = require('path');
const { setTimeout: pause } = require('timers/promises');
const Redis = require('ioredis');
const { default: Redlock, ExecutionError } = require('redlock');

const LEASE_MS = 30000; // as redlock's

const run = (command) =>
	new Promise((ended, failed) =>
		spawn(command, { stdio: 'inherit' })
			.on('error', failed)
			.on('close', ended));

async function hold(redlock, key, command) {
	let lock;

	try {
		lock = await redlock.acquire([key], LEASE_MS);
	} catch (error) {
		if (error instanceof ExecutionError)
			return false;
		throw error;
	}
	if (command)
		await run(command);
	await redlock.release(lock);
	return true;
}

async function main(dir, name, key, retry_ms, masters, command) {
	const at = (file) => path.join(dir, file);
	const nodes = masters.split(' ').map((m) => new Redis(at(`${m}.sock`)));
	const redlock = new Redlock(nodes, retry_ms === 'default' ? {} : {
		retryDelay: Number(retry_ms),
		retryJitter: Number(retry_ms) / 2,
	});
	let held = 0, failed = 0;

	await Promise.all(nodes.map((node) => node.ping()));
	fs.writeFileSync(at(`${name}.ready`), '');
	while (!fs.existsSync(at('go')))
		await pause(10);
	for (;;) {
		const got = await hold(redlock, key, command);

		if (fs.existsSync(at('stop')))
			break;
		if (got)
			held++;
		else
			failed++;
	}
	console.log(held, failed);
	for (const node of nodes)
		node.disconnect();
}

main(...process.argv.slice(2)).catch((error) => {
	console.error(error);
	process.exit(1);
});
