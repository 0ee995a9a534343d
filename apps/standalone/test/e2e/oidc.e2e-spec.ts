import { evmWallet, Marketplace, type HttpAnswer, type Session } from '@market/sdk';
import { describeNeeding, startMarketplace, type RunningMarketplace } from '@market/testing';
import { openWindow, signIn, startBrowser } from '../support/browser.js';
import { bodyOf, reasonOf } from '../support/buyer.js';
import { inEachMode } from '../support/harness.js';
import { OIDC_CLIENT, startOidcProvider } from '../support/oidc-provider.js';
import { proofOf } from '../support/proofs.js';

interface Begun {
  authorization_url: string;
  state: string;
  sign_in: string;
}
type Provider = Awaited<ReturnType<typeof startOidcProvider>>;

inEachMode('signing in with OpenID Connect', ({ mode }) => {
  let provider: Provider;
  let marketplace: RunningMarketplace;
  let anyone: Marketplace;
  /** At the public address of the marketplace. */
  let redirectUri: string;

  beforeAll(async () => {
    provider = await startOidcProvider();
    const env = {
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: OIDC_CLIENT.id,
      OIDC_CLIENT_SECRET: OIDC_CLIENT.secret,
    };
    marketplace = await startMarketplace({ mode, env });
    anyone = new Marketplace({ baseUrl: marketplace.baseUrl });
    redirectUri = new URL((await begin()).authorization_url).searchParams.get('redirect_uri')!;
    provider.allow(redirectUri);
  }, 240_000);
  afterAll(async () => {
    await marketplace?.stop();
    await provider?.close();
  }, 120_000);

  const begin = async (as = anyone): Promise<Begun> => bodyOf(await as.send('POST', '/auth/oidc')).data as Begun;
  /** The body with which a browser comes back. */
  async function returned({ authorization_url, sign_in }: Begun): Promise<Record<string, string>> {
    const url = await provider.authorize(authorization_url);
    expect(url.origin + url.pathname).toBe(redirectUri);
    return { sign_in, ...Object.fromEntries(url.searchParams) };
  }
  const finish = (body: object, as = anyone): Promise<HttpAnswer> => as.send('POST', '/auth/oidc/session', { body });
  async function signedIn(subject: string, as = anyone): Promise<Session> {
    Object.assign(provider.person, { subject, name: `${subject} of the provider` });
    const answer = await finish(await returned(await begin(as)), as);
    expect([answer.status, reasonOf(answer)]).toEqual([201, undefined]);
    expect(answer.headers.get('set-cookie')).toContain('HttpOnly');
    return bodyOf(answer).data as Session;
  }
  const holderOf = (session: Session): Marketplace => anyone.authorizedBy(`Bearer ${session.session_token}`);

  it('opens an account the first time, and finds it by issuer and subject after that', async () => {
    expect(bodyOf(await anyone.send('GET', '/auth/oidc')).data).toEqual({ issuer: provider.issuer });
    const first = await signedIn('grace');
    expect(first.account).toMatchObject({ display_name: 'grace of the provider', account_type: 'human' });
    expect((await signedIn('grace')).account.id).toBe(first.account.id);
    expect((await signedIn('another')).account.id).not.toBe(first.account.id);
    const me = bodyOf(await holderOf(first).send('GET', '/me')).data;
    expect(me).toMatchObject({ id: first.account.id, wallet_address: null, wallets: [], agents: [] });
  });

  it('one human has several sign-ins: wallets and logins are added in either order', async () => {
    const byWallet = await anyone.signIn(evmWallet());
    const added = await signedIn('added to a wallet', holderOf(byWallet.session));
    expect(added.account.id).toBe(byWallet.session.account.id);
    expect((await signedIn('added to a wallet')).account.id).toBe(byWallet.session.account.id);

    const byLogin = await signedIn('has no wallet yet');
    const wallet = evmWallet();
    const link = async (as: Marketplace): Promise<HttpAnswer> =>
      as.send('POST', '/auth/session', { body: { ...(await proofOf(anyone, wallet, 'session')), link: true } });
    expect(reasonOf(await link(anyone))).toBe('link_needs_session');
    expect((await link(holderOf(byLogin))).status).toBe(201);
    expect((await anyone.signIn(wallet)).session.account.id).toBe(byLogin.account.id);
    expect(await holderOf(byLogin).me()).toMatchObject({
      wallet_address: wallet.address,
      wallets: [{ capabilities: ['login'] }],
    });
    // What signs one human in is not taken by another.
    const other = holderOf(byWallet.session);
    expect(reasonOf(await link(other))).toBe('sign_in_of_another');
    provider.person.subject = 'has no wallet yet';
    expect(reasonOf(await finish(await returned(await begin(other)), other))).toBe('sign_in_of_another');
  });

  it('accepts only the sign-in that was begun, once, with its own code', async () => {
    provider.person.subject = 'grace';
    const [mine, other] = [await returned(await begin()), await returned(await begin())];
    const refusedAs = async (body: object): Promise<unknown[]> => {
      const answer = await finish(body);
      return [answer.status, reasonOf(answer)];
    };
    const invalid = [400, 'sign_in_invalid'];
    expect(await refusedAs({ ...mine, sign_in: other.sign_in })).toEqual(invalid);
    expect(await refusedAs({ ...mine, sign_in: 'not sealed here' })).toEqual(invalid);
    expect(await refusedAs({ ...mine, code: 'invented' })).toEqual(invalid);
    expect(await refusedAs({ ...mine, iss: 'https://another.example' })).toEqual(invalid);
    // The code of another sign-in does not fit the verifier of this one (RFC 7636).
    expect(await refusedAs({ ...mine, code: other.code })).toEqual(invalid);
    expect((await finish(mine)).status).toBe(201);
    expect(await refusedAs(mine)).toEqual(invalid);
    const linking = await returned(await begin(holderOf((await anyone.signIn(evmWallet())).session)));
    expect(await refusedAs(linking)).toEqual([400, 'link_needs_session']);
  });

  describeNeeding('chromium')('in a browser', () => {
    it('goes to the provider and comes back signed in, and refuses a code that another tab began', async () => {
      Object.assign(provider.person, { subject: 'margaret', name: 'Margaret Hamilton' });
      const browser = await startBrowser();
      const harness = { mode, baseUrl: new URL(redirectUri).origin } as Parameters<typeof openWindow>[1];
      const { page, context, violations } = await openWindow(browser, harness);
      await page.goto('/sign-in');
      await page.getByRole('button', { name: 'Sign in with 127.0.0.1' }).click();
      await page.waitForURL('**/mine');
      await page.getByText('Margaret Hamilton').waitFor();
      const foreign = await returned(await begin());
      await page.goto(`/sign-in/oidc?${new URLSearchParams({ code: foreign.code!, state: foreign.state! })}`);
      await page.getByText('was not begun in this tab').waitFor();
      await context.clearCookies();
      await page.evaluate(() => localStorage.clear());
      await signIn(page);
      await page.goto('/sign-in');
      await page.getByRole('button', { name: 'Add a login at 127.0.0.1' }).click();
      await page.getByText('already signs another human in').waitFor();
      expect(violations).toEqual([]);
      await browser.close();
    });
  });

  it('says that the provider does not answer, and that a sign-in with a wallet does', async () => {
    const begun = await returned(await begin());
    await provider.close();
    const answer = await finish(begun);
    expect([answer.status, reasonOf(answer), answer.headers.get('retry-after')]).toEqual([
      503,
      'oidc_unavailable',
      '5',
    ]);
    await anyone.signIn(evmWallet());
  });
});

inEachMode('a marketplace without an OpenID provider', (harness) => {
  it('says so', async () => {
    const anyone = new Marketplace({ baseUrl: harness.baseUrl });
    expect(bodyOf(await anyone.send('GET', '/auth/oidc')).data).toEqual({ issuer: null });
    const begun = await anyone.send('POST', '/auth/oidc');
    expect([begun.status, reasonOf(begun)]).toEqual([404, 'oidc_not_configured']);
  });
});
