import { hostname } from 'node:os';
import { EndpointUrlPolicy, type EndpointUrlRefusal } from './endpoint-url.policy.js';

const live = new EndpointUrlPolicy({
  allowPrivate: false,
  ownHosts: ['market.example.com', 'api.example.com:8443', '[2606:4700::9]:443'],
});
const sandbox = new EndpointUrlPolicy({
  allowPrivate: true,
  ownHosts: ['localhost:3000', '10.1.2.3:9000', '[::1]:9001'],
});

function outcomeOf(policy: EndpointUrlPolicy, url: string): string {
  const check = policy.check(url);
  return check.ok ? check.url.href : check.reason;
}

describe('EndpointUrlPolicy, live', () => {
  it.each([
    ['https://seller.example.com', 'https://seller.example.com/'],
    ['HTTPS://Seller.Example.COM:443/Call?x=1&y=%20', 'https://seller.example.com/Call?x=1&y=%20'],
    ['https://seller.example.com./a', 'https://seller.example.com/a'],
    ['https://seller.example.com:8443/a/../b', 'https://seller.example.com:8443/b'],
    ['https://xn--mnchen-3ya.de/', 'https://xn--mnchen-3ya.de/'],
    ['https://my_host.example.com/', 'https://my_host.example.com/'],
    ['https://1.1.1.1/', 'https://1.1.1.1/'],
    ['https://[2606:4700::1111]:8443/', 'https://[2606:4700::1111]:8443/'],
    ['https://api.example.com/', 'https://api.example.com/'],
    ['https://seller.example.com/?next=http://a@b', 'https://seller.example.com/?next=http://a@b'],
  ])('admits %s in normal form', (url, href) => {
    expect(outcomeOf(live, url)).toBe(href);
  });

  const refusals: Record<EndpointUrlRefusal, string[]> = {
    url_too_long: [`https://seller.example.com/${'a'.repeat(2_048)}`],
    scheme_not_allowed: [
      'http://seller.example.com/',
      'file:///etc/passwd',
      'gopher://seller.example.com:70/_',
      'ftp://seller.example.com/',
      'data:text/html,hi',
      'javascript:alert(1)',
      'ws://seller.example.com/',
      'wss://seller.example.com/',
      'unix:/var/run/docker.sock',
      'dict://seller.example.com/',
      'http+unix://%2fvar%2frun/',
      'blob:https://seller.example.com/1',
      'view-source:https://seller.example.com',
      'ldap://seller.example.com',
    ],
    userinfo_not_allowed: [
      'https://user@seller.example.com/',
      'https://user:pass@seller.example.com/',
      'https://@seller.example.com/',
      'https://:@seller.example.com/',
      'https://seller.example.com@127.0.0.1/',
      'https://seller.example.com%20@127.0.0.1/',
    ],
    fragment_not_allowed: [
      'https://seller.example.com/#',
      'https://seller.example.com/a#b',
      'https://seller.example.com#@127.0.0.1/',
    ],
    invalid_url: [
      '',
      ' ',
      'seller.example.com',
      '//seller.example.com/',
      'https:',
      'https://',
      'https:/seller.example.com',
      'https:seller.example.com',
      'https:///seller.example.com',
      'https://?a',
      'https://#',
      ' https://seller.example.com/',
      'https://seller.example.com/ ',
      'https://seller.example.com/a b',
      'https://seller.example.com/\r\nX-A: b',
      'https://seller.exa\tmple.com/',
      'https://seller.example.com/\u0000',
      'https://seller.example.com/\u007f',
      'https:\\\\seller.example.com\\',
      'https://seller.example.com\\@127.0.0.1/',
      'https://seller.example.com/\\a',
      'https://münchen.de/',
      'https://ｓeller.example.com/',
      'https://seller.example.com:99999/',
      'https://seller.example.com:-1/',
      'https://seller.example.com:a/',
      'https://[::1',
      'https://[fe80::1%25lo]/',
      'https://256.256.256.256/',
      'https://1.2.3.4.5/',
      'https://0xg.1/',
      'https://seller..example.com/',
      'https://.seller.example.com/',
      'https://seller.example.com../',
      'https://a!b.example.com/',
      'https://*.example.com/',
      `https://${'a'.repeat(64)}.example.com/`,
      `https://${'a.'.repeat(127)}example.com/`,
    ],
    port_not_allowed: [
      0, 22, 23, 25, 53, 110, 445, 587, 2375, 3306, 4222, 5432, 6379, 8222, 9200, 10250, 11211, 27017,
    ].map((port) => `https://seller.example.com:${port}/`),
    host_not_public: [
      'https://localhost/',
      'https://intranet/',
      'https://a.internal/',
      'https://127.0.0.1/',
      'https://0x7f.1/',
      'https://[::1]/',
      'https://2130706433/',
    ],
    own_host: [
      'https://market.example.com/',
      'https://MARKET.example.com./api/v1/gateway/x',
      'https://market.example.com:8443/',
      'https://api.example.com:8443/',
      'https://[2606:4700:0::9]/',
    ],
  };

  it.each(Object.entries(refusals).flatMap(([reason, urls]) => urls.map((url) => [url, reason])))(
    'refuses %j as %s',
    (url, reason) => {
      expect(outcomeOf(live, url)).toBe(reason);
    },
  );
});

describe('EndpointUrlPolicy, sandbox', () => {
  it.each([
    'http://localhost:4001/',
    'http://127.0.0.1:4001/',
    'https://seller/',
    'http://[::1]:4001/',
    'http://seller.internal/',
    'http://10.1.2.3:3000/',
    'http://seller:3000/',
  ])('admits %s', (url) => {
    expect(outcomeOf(sandbox, url)).toBe(url);
  });

  it.each([
    ['http://localhost:3000/', 'own_host'],
    ...[
      '127.0.0.1',
      '127.9.9.9',
      '2130706433',
      '0.0.0.0',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::]',
      'LOCALHOST.',
      'a.localhost',
      hostname(),
    ].flatMap((host) => [
      [`http://${host}:3000/`, 'own_host'],
      [`http://${host}:9001/x`, 'own_host'],
    ]),
    ['http://10.1.2.3:9000/', 'own_host'],
    ['http://localhost:5432/', 'port_not_allowed'],
    ['ftp://localhost/', 'scheme_not_allowed'],
    ['http://a@localhost:4001/', 'userinfo_not_allowed'],
    ['http://localhost:4001/#a', 'fragment_not_allowed'],
  ])('still refuses %s as %s', (url, reason) => {
    expect(outcomeOf(sandbox, url)).toBe(reason);
  });
});
