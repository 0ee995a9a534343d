import { readFileSync } from 'node:fs';

/** Builds for other platforms that its registry does not have. They are for tests alone, and optional. */
const UNPUBLISHED = /^node_modules\/litesvm-(darwin|linux)-/;

interface LockedPackage {
  link?: true;
  integrity?: string;
  version: string;
}

/** The first versions without faults that were told of, as CVE-2026-22036 of undici and CVE-2025-15284 of qs. */
const FLOORS: Record<string, string> = {
  '@nestjs/core': '12.5.1',
  'body-parser': '2.4.0',
  fastify: '5.7.3',
  'path-to-regexp': '6.3.0',
  qs: '6.14.1',
  typeorm: '0.3.26',
  undici: '7.18.2',
};

const text = readFileSync(new URL('../../../../package-lock.json', import.meta.url), 'utf8');
const { packages } = JSON.parse(text) as { packages: Record<string, LockedPackage> };

it('the lock file says of each package of the registry what is in it', () => {
  const fetched = Object.entries(packages).filter(
    ([path, { link }]) => path.includes('node_modules/') && !link && !UNPUBLISHED.test(path),
  );
  expect(fetched.length).toBeGreaterThan(100);
  // A registry that lacks the builds of other platforms leaves their integrity out.
  expect(fetched.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')).map(([path]) => path)).toEqual([]);
});

it('the lock file has no package older than its floor', () => {
  const isOlder = (version: string, floor: string): boolean =>
    version.localeCompare(floor, 'en', { numeric: true }) < 0 || version.includes('-');
  for (const [name, floor] of Object.entries(FLOORS)) {
    const locked = Object.entries(packages).filter(([path]) => path.endsWith(`node_modules/${name}`));
    expect([name, locked.length > 0, locked.filter(([, { version }]) => isOlder(version, floor))]).toEqual([
      name,
      true,
      [],
    ]);
  }
});
