import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import yaml from 'js-yaml';

export const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

/** docker-compose.yml with its variables filled in, and each service's `environment` as its container would see it. */
export function readCompose(secrets, variables = {}) {
  const text = readFileSync(join(PROJECT, 'docker-compose.yml'), 'utf8').replaceAll(/\$\{(\w+):-([^}]*)\}/g, (_, name, fallback) => variables[name] || fallback);
  const compose = yaml.load(text);
  for (const service of Object.values(compose.services)) {
    const file = service.env_file?.replace(/^deploy\/secrets\//, '');
    service.environment = { ...(file ? readEnvironment(join(secrets, file)) : {}), ...service.environment };
  }
  return compose;
}

/** Makes the secrets that the compose file names. */
export function makeSecrets(directory) {
  execFileSync(process.execPath, [join(PROJECT, 'deploy/local/make-env.mjs'), '--out', directory]);
  return directory;
}

function readEnvironment(file) {
  const lines = readFileSync(file, 'utf8').split('\n').filter((line) => line !== '');
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}
