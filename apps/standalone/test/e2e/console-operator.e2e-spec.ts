import { describeNeeding, eventually, OPERATOR } from '@market/testing';
import type { Browser, Page } from 'playwright-core';
import {
  expectAllWell,
  expectNothingRun,
  expectWell,
  openWindow,
  signIn,
  startBrowser,
  widthsIn,
  type Window,
} from '../support/browser.js';
import { callOnce, payFor, withRelayId } from '../support/buyer.js';
import { inOneMode, registerAgent, type Agent } from '../support/harness.js';
import { injectEvmWallet, injectSolanaWallet } from '../support/injected-wallets.js';
import { openShop, reply, type Shop } from '../support/seller.js';

/** Markup that becomes visible if it is executed or not escaped. */
const HOSTILE = `"'><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`;

describeNeeding('chromium')('in a browser', () => {
  inOneMode('the pages of operators', (harness) => {
    let browser: Browser;
    let window: Window;
    let page: Page;
    let seller: Agent;
    let shop: Shop;
    let signedByOperator: string[];
    let callId: string;
    let paymentId: string;
    let buy: (body: object) => Promise<void>;

    const title = (name: string | RegExp) => page.getByRole('heading', { level: 1, name });

    beforeAll(async () => {
      browser = await startBrowser();
      seller = await registerAgent(harness, { displayName: `Watched ${HOSTILE}`.slice(0, 100) });
      const buyer = await registerAgent(harness, { displayName: HOSTILE });
      let isBroken = true;
      shop = await openShop(seller, () => (isBroken ? reply(500, { broken: true }) : { ok: true }), {
        name: `Watched ${HOSTILE}`.slice(0, 100),
        description: HOSTILE,
        tags: ['"><img src=x>'],
      });
      buy = async (body) =>
        void (await callOnce(buyer, shop.listing, body, withRelayId(await payFor(buyer, shop.listing, body))));
      const relayId = withRelayId(await payFor(buyer, shop.listing, {}));
      await callOnce(buyer, shop.listing, {}, relayId);
      isBroken = false;
      await callOnce(buyer, shop.listing, {}, relayId);
      const [call] = (await buyer.market.gatewayRequests.list()).data;
      callId = call!.id;
    });
    afterAll(async () => {
      await browser.close();
      await shop.close();
    });
    afterEach(() => expect(window.violations).toEqual([]));

    describe.each(widthsIn(harness))('on a screen of %i pixels', (width) => {
      beforeAll(async () => {
        window = await openWindow(browser, harness, { width });
        ({ page } = window);
        signedByOperator = await injectEvmWallet(window.context, OPERATOR.key);
      });

      it('are for operators, and nobody else sees a way to them', async () => {
        const other = await openWindow(browser, harness, { width });
        await other.page.goto('/operator');
        await other.page.getByText('These pages are for the operators').waitFor();
        await other.page.getByRole('link', { name: 'Sign in with a wallet' }).waitFor();
        await signIn(other.page);
        await other.page.getByRole('button', { name: 'Sign out' }).waitFor();
        expect(await other.page.getByRole('link', { name: 'Operate' }).count()).toBe(0);
        await other.page.goto('/operator/audit');
        await other.page.getByText('These pages are for the operators').waitFor();
        await other.context.close();
      });

      it('open to an EVM wallet that the browser has, which signs the message as it is shown', async () => {
        await page.goto('/sign-in');
        await page.getByRole('button', { name: 'Injected EVM' }).click();
        const shown = await page.getByRole('region', { name: 'The message to be signed' }).textContent();
        await page.getByRole('button', { name: 'Sign in', exact: true }).click();
        await page.waitForURL('**/mine');
        expect(signedByOperator).toEqual([shown]);
        expect(shown).toContain(OPERATOR.address);
        await page.getByRole('link', { name: 'Operate' }).click();
        await title('Overview').waitFor();
      });

      it('and to a Solana wallet that registers itself, as whoever it is', async () => {
        const other = await openWindow(browser, harness, { width });
        const { address, signed } = await injectSolanaWallet(other.context);
        await other.page.goto('/sign-in');
        await other.page.getByRole('button', { name: 'Injected Solana' }).click();
        const shown = await other.page.getByRole('region', { name: 'The message to be signed' }).textContent();
        await other.page.getByRole('button', { name: 'Sign in', exact: true }).click();
        await other.page.waitForURL('**/mine');
        expect(signed).toEqual([shown]);
        expect(shown).toContain(`wants you to sign in with your Solana account:\n${address}\n`);
        await other.page.goto('/sign-in');
        await other.page.getByRole('main').getByTitle(address).waitFor();
        expect(other.violations).toEqual([]);
        await other.context.close();
      });

      it('show numbers that move by themselves, and ask nothing again for it', async () => {
        const opened = page.waitForRequest((request) => request.resourceType() === 'eventsource');
        await page.goto('/operator');
        await page.getByRole('region', { name: 'Queues of events' }).waitFor();
        await opened;
        const owed = page.locator('dt', { hasText: 'Owed to sellers' }).locator('+ dd');
        const before = await owed.textContent();
        const asked: string[] = [];
        page.on('request', (request) => {
          if (request.resourceType() === 'fetch') asked.push(request.url());
        });
        await buy({ n: width });
        await eventually(async () => expect(await owed.textContent()).not.toBe(before), { withinMs: 20_000 });
        expect(asked.filter((url) => url.endsWith('/overview'))).toEqual([]);
        page.removeAllListeners('request');
      });

      it('find a call, show every attempt at it, and lead to its payment, its listing and its seller', async () => {
        await page.goto('/operator/search');
        await page.getByRole('searchbox').fill(callId);
        await page.getByRole('button', { name: 'Find' }).click();
        await page.waitForURL(`**/operator/search?q=${callId}`);
        await page.locator(`a[href="/operator/calls/${callId}"]`).click();
        await title(/^A call of Watched/).waitFor();
        const attempts = page.getByRole('list', { name: 'Attempts' }).getByRole('listitem');
        expect(await attempts.allTextContents()).toEqual([
          expect.stringMatching(/: seller error, status 500, after/),
          expect.stringMatching(/: delivered, status 200, after/),
        ]);
        await page.locator('a[href^="/operator/payments/"]').click();
        await page.getByRole('region', { name: 'Booked' }).waitFor();
        paymentId = page.url().split('/').at(-1)!;
        expect(await page.getByRole('region', { name: 'Booked' }).locator('tbody tr').count()).toBeGreaterThanOrEqual(
          4,
        );
        await page.goto(`/operator/search?q=${seller.id}`);
        await page.getByRole('region', { name: 'Calls' }).waitFor();
        await page.goto('/operator/search?q=nothing+that+there+is');
        await page.getByText('Nothing is known by this').waitFor();
      });

      it('suspend and release an agent and a listing, revoke a key, each after a question, and write it all down', async () => {
        const act = async (button: string, dialog: RegExp, why?: string): Promise<void> => {
          await page.getByRole('button', { name: button, exact: true }).first().click();
          const asked = page.getByRole('dialog', { name: dialog });
          const yes = asked.getByRole('button', { name: button, exact: true });
          if (why !== undefined) {
            expect(await yes.isDisabled()).toBe(true);
            await asked.getByRole('textbox').fill(why);
          }
          await yes.click();
          await asked.waitFor({ state: 'hidden' });
        };
        await page.goto(`/operator/agents/${seller.id}`);
        await act('Suspend it', /^Suspend/, `${width} ${HOSTILE}`);
        await page.getByRole('button', { name: 'Release it' }).waitFor();
        await eventually(async () => expect((await seller.market.send('GET', '/me')).status).toBe(403), {
          withinMs: 20_000,
        });
        await act('Release it', /^Release/);
        await page.getByRole('button', { name: 'Suspend it' }).waitFor();
        await eventually(async () => expect((await seller.market.send('GET', '/me')).status).toBe(200), {
          withinMs: 20_000,
        });
        const { key } = await seller.market.apiKeys.create({ name: `Leaked at ${width}`, scopes: ['read'] });
        await page.reload();
        await act('Revoke', /^Revoke “Leaked at/, 'It leaked.');
        await page.getByRole('row', { name: new RegExp(`Leaked at ${width}.*revoked`) }).waitFor();
        const leaked = seller.market.authorizedBy(`Bearer ${key}`);
        await eventually(async () => expect((await leaked.send('GET', '/me')).status).toBe(401), { withinMs: 20_000 });

        await page.goto(`/operator/listings/${shop.listing.id}`);
        await act('Suspend it', /^Suspend/, 'A copy.');
        await page.getByText('by operator').waitFor();
        await act('Release it', /^Release/);
        await page.getByRole('button', { name: 'Suspend it' }).waitFor();

        await page.goto('/operator/audit');
        const rows = page.getByRole('region', { name: 'What was done' }).locator('tbody tr');
        await rows.first().waitFor();
        const done = (await rows.locator('td:nth-child(3)').allTextContents()).filter(
          (did) => !/show|search/.test(did),
        );
        expect(done.slice(0, 5)).toEqual([
          'listing release',
          'listing suspend',
          'key revoke',
          'agent release',
          'agent suspend',
        ]);
        expect(await page.getByRole('cell', { name: `${width} ${HOSTILE}` }).count()).toBe(1);
      });
    });

    const full = (): [path: string, shown: () => Promise<void>][] => [
      ['/operator', () => page.getByRole('region', { name: 'Queues of events' }).waitFor()],
      [`/operator/search?q=${seller.id}`, () => page.getByRole('region', { name: 'Calls' }).waitFor()],
      [`/operator/agents/${seller.id}`, () => page.getByRole('region', { name: 'Keys' }).waitFor()],
      [`/operator/listings/${shop.listing.id}`, () => page.getByRole('button', { name: 'Suspend it' }).waitFor()],
      [`/operator/payments/${paymentId}`, () => page.getByRole('region', { name: 'Booked' }).waitFor()],
      [`/operator/calls/${callId}`, () => page.getByRole('list', { name: 'Attempts' }).waitFor()],
      ['/operator/audit', () => page.getByRole('region', { name: 'What was done' }).waitFor()],
    ];

    it('have nothing that axe finds, in light and dark, fit small and large screens, and run nothing that others wrote', async () => {
      await expectAllWell(page, full(), () => expectNothingRun(window));
      await page.goto(`/operator/agents/${seller.id}`);
      await page.getByRole('button', { name: 'Suspend it' }).click();
      await expectWell(page);
    });

    it('show where things will stand, what went wrong, and go on when it is back', async () => {
      for (const [path, shown] of full()) {
        const request = `/api/v1/admin${path === '/operator' ? '/overview' : path.slice('/operator'.length)}`;
        const isAsked = (url: URL): boolean => url.href.includes(request);
        let fail = (): void => {};
        const failing = new Promise<void>((resolve) => (fail = resolve));
        await page.route(isAsked, async (route) => {
          await failing;
          await route.abort();
        });
        await page.goto(path);
        await page.locator('main .skeleton').first().waitFor();
        fail();
        const alert = page.getByRole('alert').filter({ hasText: 'could not be reached' }).first();
        await alert.waitFor();
        await page.unroute(isAsked);
        await alert.getByRole('button', { name: 'Try again' }).click();
        await shown();
      }
    });
  });
});
