/** `node --import ./.config/typescript.mjs`: Node imports TypeScript sources, compiled by swc as `npm run build` compiles them. */
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { transformFile } from '@swc/core';

const configFile = fileURLToPath(new URL('../.swcrc', import.meta.url));

// Node runs the hooks of this file in a separate thread.
if (isMainThread) register(import.meta.url);

/** TypeScript sources import a module by the name of its compiled JavaScript file. */
export const resolve = (specifier, context, next) =>
  next(
    /^\.{1,2}\/.*\.js$/.test(specifier) && context.parentURL?.endsWith('.ts')
      ? specifier.replace(/js$/, 'ts')
      : specifier,
    context,
  );

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const { code } = await transformFile(fileURLToPath(url), { configFile, sourceMaps: 'inline' });
  return { format: 'module', source: code, shortCircuit: true };
}
