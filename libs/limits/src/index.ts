export * from './limits.js';
export * from './limits.module.js';
export { MemoryLimits } from './memory-limits.js';
export { redisProblems } from './redis-check.js';
export { RedisLimits } from './redis-limits.js';
