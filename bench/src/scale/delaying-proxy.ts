import { startDelayed } from '../delayed.js';

/** A proxy in a process of its own, so that its work takes nothing from the one that measures. */
const { url } = await startDelayed(process.env.TARGET_URL!, () => Number(process.env.DELAY_MS));
process.stdin.resume().once('end', () => process.exit(0));
console.log(url);
