import { describeNeeding } from '@market/testing';
import { readFile } from 'node:fs/promises';
import type { Browser, Page } from 'playwright-core';
import {
  claim,
  expectAllWell,
  expectNothingRun,
  expectWell,
  openWindow,
  signIn,
  startBrowser,
  type Window,
} from '../support/browser.js';
import { callOnce, payFor, withRelayId } from '../support/buyer.js';
import { inOneMode, registerAgent, type Agent } from '../support/harness.js';
import { openShop, type Shop } from '../support/seller.js';

/** Markup that becomes visible if it is executed or not escaped. */
const HOSTILE = `"'><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\${7*7}{{7*7}}</textarea></title>`;

const MINE = [
  '',
  '/calls',
  '/money',
  '/ledger',
  '/receipts',
  '/refunds',
  '/statements',
  '/keys',
  '/listings',
  '/subscriptions',
  '/wallets',
] as const;

describeNeeding('chromium')('in a browser', () => {
  inOneMode('the pages of the console', (harness) => {
    let browser: Browser;
    let window: Window;
    let page: Page;
    let seller: Agent;
    let newcomer: Agent;
    let shop: Shop;
    let other: Shop;

    const mine = (path: string, agent: Agent): string => `/mine${path}?agent=${agent.id}`;
    const title = (name: string | RegExp) => page.getByRole('heading', { level: 1, name });

    beforeAll(async () => {
      browser = await startBrowser();
      window = await openWindow(browser, harness);
      ({ page } = window);
      const named = `Shop ${HOSTILE}`.slice(0, 100);
      let buyer: Agent;
      [seller, newcomer, buyer] = (await Promise.all([
        registerAgent(harness, { displayName: 'A seller <b>of</b> the pages' }),
        registerAgent(harness, { displayName: 'Newcomer' }),
        registerAgent(harness, { displayName: `<script>window.hacked=1</script>` }),
      ])) as [Agent, Agent, Agent];
      shop = await openShop(seller, () => ({ told: HOSTILE, [HOSTILE]: true }), {
        name: named,
        description: HOSTILE,
        docs: HOSTILE,
        sla: HOSTILE,
        risk_disclaimers: HOSTILE,
        expected_delivery: HOSTILE.slice(0, 100),
        tags: ['"><img src=x>'],
        example_outputs: [{ label: HOSTILE.slice(0, 60), content: HOSTILE }],
        logo_url: 'https://example.com/logo.png"onerror="window.hacked=1',
        input_schema: {
          type: 'object',
          properties: {
            text: { type: 'string', title: HOSTILE, description: HOSTILE },
            kind: { enum: [HOSTILE, 'plain'], description: HOSTILE },
            loud: { type: 'boolean' },
          },
        },
        example_input: { text: HOSTILE, kind: HOSTILE, loud: true },
        output_schema: { type: 'object', description: HOSTILE },
      } as object);
      const body = { text: HOSTILE };
      await callOnce(buyer, shop.listing, body, withRelayId(await payFor(buyer, shop.listing, body)));
      await buyer.market.reviews.create(shop.listing, {
        accuracy_rating: 5,
        reliability_rating: 4,
        value_rating: 3,
        title: HOSTILE.slice(0, 100),
        comment: HOSTILE,
      });
      // The seller also buys, and pays more than the price, so that a refund is due to it.
      other = await openShop(buyer);
      await callOnce(seller, other.listing, {}, withRelayId(await payFor(seller, other.listing, {}, 'overpaid')));
      await seller.market.webhooks.create({ url: 'https://hooks.example/of-the-pages' });
      await signIn(page);
      await claim(page, seller);
      await claim(page, newcomer);
    });
    afterAll(async () => {
      await browser.close();
      await Promise.all([shop.close(), other.close()]);
    });

    /** All pages, with a check that each shows its content. */
    const full = (): [path: string, shown: () => Promise<void>][] => [
      ['/', () => page.getByRole('button', { name: 'Make the call' }).waitFor()],
      ['/catalog', () => page.locator('.card.listing').first().waitFor()],
      [
        `/listings/${shop.listing.slug}`,
        async () => {
          await page.locator('.review').waitFor();
          await page.getByRole('img', { name: 'Success of paid calls, lately: delivered 100%' }).waitFor();
        },
      ],
      [`/agents/${seller.id}`, () => page.locator('.card.listing').waitFor()],
      ['/docs#createListing', () => page.getByRole('region', { name: 'Example of the body: per_call' }).waitFor()],
      ['/nowhere', () => title('Nothing is here').waitFor()],
      ['/mine/claim', () => title('Claim an agent').waitFor()],
      [mine('', seller), () => page.getByText('paid calls were delivered').waitFor()],
      ...['/calls', '/ledger', '/receipts', '/refunds', '/statements', '/keys'].map(
        (path): [string, () => Promise<void>] => [mine(path, seller), () => page.locator('tbody tr').first().waitFor()],
      ),
      [mine('/money', seller), () => page.getByText('Fees due').waitFor()],
      [mine('/listings', seller), () => page.locator('li.card').waitFor()],
      [mine('/listings/new', seller), () => page.getByLabel('Name').waitFor()],
      [mine(`/listings/${shop.listing.id}`, seller), () => page.getByRole('button', { name: 'Pause' }).waitFor()],
      [mine('/subscriptions', seller), () => page.getByText('No subscriptions here').waitFor()],
      [mine('/wallets', seller), () => page.locator('li.card').waitFor()],
      [mine('/webhooks', seller), () => page.getByRole('button', { name: /^Delete/ }).waitFor()],
      ['/sign-in', () => page.getByRole('button', { name: 'Test wallet' }).waitFor()],
      ...['buying', 'selling', 'paying', 'snippets', 'mcp', 'errors'].map((guide): [string, () => Promise<void>] => [
        `/docs/${guide}`,
        () => page.locator('[aria-current=page]').filter({ visible: true }).last().waitFor(),
      ]),
    ];

    it('have nothing that axe finds, in light and dark, fit every screen, are worked by the keyboard, and run nothing', async () => {
      const dialogs = await expectAllWell(page, full(), async () => {
        for (const details of await page.locator('details > summary').all()) await details.click();
        await expectNothingRun(window);
      });
      expect(dialogs).toBeGreaterThanOrEqual(9);
    }, 900_000);

    it('open nothing in which axe finds anything', async () => {
      await page.goto(mine('/keys', seller));
      await page.getByRole('button', { name: 'Make a key' }).click();
      await expectWell(page);
      await page.goto(mine('/receipts', seller));
      await page.getByRole('button', { name: 'Verify' }).first().click();
      await page.getByText('This browser checked').waitFor();
      await expectWell(page);
      const stranger = await openWindow(browser, harness);
      await stranger.page.goto('/sign-in');
      await stranger.page.getByRole('button', { name: 'Test wallet' }).click();
      await stranger.page.getByText('exactly as it is').waitFor();
      await expectWell(stranger.page);
      await stranger.context.close();
    });

    it('show what sellers and buyers wrote as text', async () => {
      await page.goto(`/listings/${shop.listing.slug}`);
      await page.getByRole('button', { name: 'Call with play money' }).click();
      await page.getByText('The signature was checked in this browser').waitFor();
      for (const details of await page.locator('details > summary').all()) await details.click();
      expect(JSON.parse((await page.getByRole('region', { name: "The seller's answer" }).textContent())!)).toEqual({
        told: HOSTILE,
        [HOSTILE]: true,
      });
      expect(await page.locator('.review .prose').textContent()).toBe(HOSTILE);
      await expectNothingRun(window);
    });

    it('tell what is owed back, and a month from its opening to its closing balance, as CSV, too', async () => {
      await page.goto(mine('/refunds', seller));
      // The sandbox pays the refund within a minute, and an event refreshes the page.
      await page.getByRole('row', { name: /owed to it overpaid \$0\.125 refunded .* 0x/ }).waitFor({ timeout: 90_000 });
      await page.getByLabel('Side').selectOption('owed by it');
      await page.getByText('No refunds here').waitFor();
      await page.goto(mine('/statements', seller));
      const { data } = await seller.market.ledger.list({ limit: 100 });
      const rows = page.getByRole('region', { name: 'Entries' }).locator('tbody tr');
      await rows.first().waitFor();
      expect(await rows.count()).toBe(data.length);
      const amount = async (of: string) =>
        page.locator('dt', { hasText: of }).locator('+ dd data').getAttribute('value');
      // Each call of its own listing earned $0.25. It bought one call for $0.25 and overpaid it by half, which is due
      // as a refund.
      expect([await amount('earned'), await amount('spent'), await amount('refunds due')]).toEqual([
        String(250_000 * shop.requests.length),
        '250000',
        '125000',
      ]);
      expect(await amount('Opening balance')).toBe('0');
      for (const [period, named] of [
        [String(new Date().getUTCFullYear()), /^\d{4}$/],
        ['days', /^\d{4}-\d\d-\d\d--\d{4}-\d\d-\d\d$/],
      ] as const) {
        const answered = page.waitForResponse((response) => response.url().includes('/api/v1/statements/'));
        await page.getByLabel('Period (UTC)').selectOption(period);
        expect(new URL((await answered).url()).pathname.split('/').pop()).toMatch(named);
        expect(await (await answered).json()).toMatchObject({ pagination: { total: data.length } });
      }
      await page.getByLabel('To', { exact: true }).waitFor();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download as CSV' }).click(),
      ]);
      const csv = await readFile(await download.path(), 'utf8');
      expect(csv.trim().split('\n')).toHaveLength(data.length + 1);
      await page.goto(mine('/statements', seller) + '&period=2020-01');
      await page.getByText('Nothing is booked in this period').waitFor();
      await page.goto(mine('/statements', seller) + '&period=soon');
      await page.getByRole('alert').filter({ hasText: 'named by its period' }).waitFor();
    }, 240_000);

    it('say so where there is nothing', async () => {
      const nothing: Record<(typeof MINE)[number], string> = {
        '': 'It sold nothing in the last 30 days',
        '/money': 'No payouts yet',
        '/calls': 'No calls here',
        '/ledger': 'Nothing is booked here',
        '/receipts': 'No receipts here',
        '/refunds': 'No refunds here',
        '/statements': 'Nothing is booked in this period',
        '/keys': 'Registration key',
        '/listings': 'No listings yet',
        '/subscriptions': 'No subscriptions here',
        '/wallets': 'recover the account',
      };
      for (const path of MINE) {
        await page.goto(mine(path, newcomer));
        await page.getByText(nothing[path]).first().waitFor();
      }
      await page.goto('/catalog?q=xylophone+zeppelin+quokka');
      await page.getByText('Nothing fits these filters').waitFor();
      await page.getByRole('button', { name: 'Clear the filters' }).click();
      await page.locator('.card.listing').first().waitFor();
      await page.goto('/listings/no-such-listing');
      await title('No such listing').waitFor();
    });

    it('say what went wrong where the marketplace is out of reach, and go on when it is back', async () => {
      const reads: [path: string, request: string][] = [
        ['/catalog', '/listings?'],
        [`/listings/${shop.listing.slug}`, `/listings/${shop.listing.slug}`],
        [`/listings/${shop.listing.slug}`, `/listings/${shop.listing.id}/quality`],
        [mine('', seller), '/ledger?'],
        [mine('/calls', seller), '/gateway-requests?'],
        [mine('/money', seller), '/me/balance?'],
        [mine('/ledger', seller), '/ledger?'],
        [mine('/receipts', seller), '/receipts?'],
        [mine('/refunds', seller), '/refunds?'],
        [mine('/statements', seller), '/statements/'],
        [mine('/keys', seller), '/api-keys?'],
        [mine('/listings', seller), '/listings?'],
        [mine(`/listings/${shop.listing.id}`, seller), `/listings/${shop.listing.id}?`],
        [mine('/subscriptions', seller), '/subscriptions?'],
        [mine('/wallets', seller), '/me/wallets?'],
      ];
      for (const [path, request] of reads) {
        const isAsked = (url: URL): boolean => url.href.includes(`/api/v1${request}`);
        await page.route(isAsked, (route) => route.abort());
        await page.goto(path);
        const alert = page.getByRole('alert').filter({ hasText: 'could not be reached' }).first();
        await alert.waitFor();
        await page.unroute(isAsked);
        await alert.getByRole('button', { name: 'Try again' }).click();
        await page.getByRole('alert').first().waitFor({ state: 'detached' });
        await page.locator('main .skeleton').first().waitFor({ state: 'detached' });
      }
      await page.goto('/catalog?min_price=much');
      await page.getByRole('alert').filter({ hasText: 'not valid' }).waitFor();
    });

    it('show where things will stand while they are on their way, and nothing jumps out of the way', async () => {
      const isRead = (url: URL): boolean => url.pathname.startsWith('/api/v1/');
      let release = (): void => {};
      const released = new Promise<void>((resolve) => (release = resolve));
      await page.route(isRead, async (route) => {
        await released;
        await route.continue();
      });
      await page.goto('/catalog');
      await page.getByRole('status').filter({ hasText: 'Loading' }).waitFor();
      const before = await page.getByRole('heading', { level: 1 }).boundingBox();
      release();
      await page.locator('.card.listing').first().waitFor();
      expect(await page.getByRole('heading', { level: 1 }).boundingBox()).toEqual(before);
      await page.unroute(isRead);
    });

    it('let the keyboard skip what is on every page', async () => {
      await page.goto('/');
      await page.getByRole('link', { name: 'Skip to content' }).waitFor({ state: 'attached' });
      await page.keyboard.press('Tab');
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to content');
      await page.keyboard.press('Enter');
      expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
    });
  });
});
