/** Replaces the scripts that the image runs by bundles, which need no package; `npm ci` before. */
import { build } from 'esbuild';
import { bundleOf } from '../../.config/build.mjs';

const SCRIPTS = ['local/make-env.mjs', 'nats/generate-keys.mjs'];

await build({
  ...bundleOf(SCRIPTS, { from: 'deploy', to: 'deploy' }),
  outExtension: { '.js': '.mjs' },
  allowOverwrite: true,
});
