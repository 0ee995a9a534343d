import { readFileSync } from 'node:fs';

/** Builds for other platforms that its registry does not have. They are for tests alone, and optional. */
const UNPUBLISHED = /^node_modules\/litesvm-(darwin|linux)-/;

interface LockedPackage {
  link?: true;
  integrity?: string;
}

it('the lock file says of each package of the registry what is in it', () => {
  const text = readFileSync(new URL('../../../../package-lock.json', import.meta.url), 'utf8');
  const { packages } = JSON.parse(text) as { packages: Record<string, LockedPackage> };
  const fetched = Object.entries(packages).filter(
    ([path, { link }]) => path.includes('node_modules/') && !link && !UNPUBLISHED.test(path),
  );
  expect(fetched.length).toBeGreaterThan(100);
  // A registry that lacks the builds of other platforms leaves their integrity out.
  expect(fetched.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')).map(([path]) => path)).toEqual([]);
});
