import { isCidr, siteOf } from './client-address.js';

describe('the site of an address', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7:4711', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::FFFF:cb00:7107', '203.0.113.7'],
    ['0:0:0:0:0:ffff:203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::ffff', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::1]:443', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::203.0.113.7', '64:ff9b:0:0::/64'],
    ['unknown', 'unknown'],
    ['_hidden:1', '_hidden:1'],
    [undefined, 'gone'],
  ])('of %s is %s', (address, site) => {
    expect(siteOf(address)).toBe(site);
  });

  it('is one for ten thousand addresses of one /64', () => {
    const sites = Array.from({ length: 10_000 }, (_, index) =>
      siteOf(`2001:db8:0:7:${(index * 7919).toString(16).slice(-4)}::${index.toString(16)}`),
    );
    expect(new Set(sites)).toEqual(new Set(['2001:db8:0:7::/64']));
  });

  it('is short, whatever a proxy says', () => {
    expect(siteOf(`a:${'x'.repeat(10_000)}`).length).toBe(64);
  });
});

describe('a CIDR', () => {
  it.each(['10.0.0.0/8', '192.0.2.1', 'fd00::/8', '::1', '0.0.0.0/0'])('is %s', (text) =>
    expect(isCidr(text)).toBe(true),
  );
  it.each(['', '10.0.0.0/33', 'fd00::/129', '10.0.0/8', 'loopback', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/-1'])(
    'is not %p',
    (text) => expect(isCidr(text)).toBe(false),
  );
});
