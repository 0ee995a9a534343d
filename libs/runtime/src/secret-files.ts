import { readFileSync } from 'node:fs';
import { ConfigError, type Environment } from './define-config.js';

/** Names of variables that contain a secret, or a URL that may contain one. */
const SECRET_FILE = /^((?:[A-Z0-9_]+_)?(?:URLS?|KEYS?|SEED|CHAINS|HEADERS|KEY_ID|SECRET))_FILE$/;

/**
 * Returns the environment in which each `<NAME>_FILE` of a secret is replaced by `<NAME>` with the content of that
 * file, which is how containers receive their secrets. Trailing line ends of the file are removed.
 * @throws ConfigError naming every file that cannot be read, and every variable that is given twice.
 */
export function withSecretFiles(env: Environment): Environment {
  const read: Environment = { ...env };
  const problems: string[] = [];
  for (const [variable, path] of Object.entries(env)) {
    const [, name] = SECRET_FILE.exec(variable) ?? [];
    if (name === undefined || !path) continue;
    delete read[variable];
    if (env[name]) problems.push(`${name}: is given twice, by itself and by ${variable}; remove one of them`);
    else
      try {
        read[name] = readFileSync(path, 'utf8').replace(/[\r\n]+$/, '');
      } catch (error) {
        problems.push(`${variable}: the file cannot be read (${(error as NodeJS.ErrnoException).code})`);
      }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return read;
}
