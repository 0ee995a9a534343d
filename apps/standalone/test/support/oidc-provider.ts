import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';

export const OIDC_CLIENT = { id: 'market', secret: 'a secret of the marketplace, 32+ bytes' };

/** A real OpenID provider (npm's oidc-provider) at which whoever `person` names is signed in already. */
export interface TestOidcProvider {
  issuer: string;
  person: { subject: string; name: string };
  /** Follows a browser's way through the provider. @returns the URL with which it sends the browser back. */
  authorize(authorizationUrl: string): Promise<URL>;
  close(): Promise<void>;
}

export async function startOidcProvider(): Promise<TestOidcProvider & { allow(redirectUri: string): void }> {
  const redirectUris: string[] = ['https://unused.example/'];
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const person = { subject: 'ada', name: 'Ada Lovelace' };
  const start = (): void => {
    const provider = new Provider(issuer, {
      clients: [{ client_id: OIDC_CLIENT.id, client_secret: OIDC_CLIENT.secret, redirect_uris: redirectUris }],
      pkce: { required: () => true },
      cookies: { keys: ['a key of the tests'] },
      claims: { profile: ['name'] },
      conformIdTokenClaims: false,
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_context, { uid }) => `/login/${uid}` },
      findAccount: (_context, subject) => ({
        accountId: subject,
        claims: () => ({ sub: subject, name: person.name }),
      }),
      loadExistingGrant: async ({ oidc }) => {
        const grant = new oidc.provider.Grant({ accountId: oidc.session!.accountId, clientId: oidc.client!.clientId });
        grant.addOIDCScope('openid profile');
        await grant.save();
        return grant;
      },
    });
    provider.use(async (context, next) => {
      if (!context.path.startsWith('/login/')) return next();
      await provider.interactionFinished(context.req, context.res, { login: { accountId: person.subject } });
      context.respond = false;
    });
    server.removeAllListeners('request').on('request', provider.callback());
  };
  start();
  return {
    issuer,
    person,
    allow(redirectUri) {
      redirectUris.push(redirectUri);
      start();
    },
    async authorize(authorizationUrl) {
      const cookies = new Map<string, string>();
      let url = new URL(authorizationUrl);
      while (url.origin === issuer) {
        const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
        const answer = await fetch(url, { redirect: 'manual', headers: { cookie } });
        for (const set of answer.headers.getSetCookie()) {
          const [, name, value] = /^([^=]+)=([^;]*)/.exec(set)!;
          cookies.set(name!, value!);
        }
        const location = answer.headers.get('location');
        if (location === null) throw new Error(`the provider answered ${answer.status}: ${await answer.text()}`);
        url = new URL(location, url);
      }
      return url;
    },
    close: () => new Promise((resolve) => server.close(() => resolve()).closeAllConnections()),
  };
}
