import { describeNeeding } from '@market/testing';
import { readFile } from 'node:fs/promises';
import type { Browser, Page } from 'playwright-core';
import {
  claim,
  expectToFit,
  inaccessible,
  saveScreenshot,
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

const MINE = ['', '/calls', '/ledger', '/receipts', '/refunds', '/statements', '/keys', '/listings'] as const;

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
          await page
            .getByRole('img', { name: 'Delivered, lately: of paid calls, failures of a single buyer aside 100%' })
            .waitFor();
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
      [mine('/listings', seller), () => page.getByRole('button', { name: 'Pause' }).waitFor()],
    ];

    it.each(['light', 'dark'] as const)('have nothing that axe finds, in %s', async (colorScheme) => {
      await page.emulateMedia({ colorScheme });
      for (const [path, shown] of full()) {
        await page.goto(path);
        await shown();
        expect([path, await inaccessible(page)]).toEqual([path, []]);
        await saveScreenshot(page, `${colorScheme} ${path}`);
      }
    });

    it.each(['light', 'dark'] as const)('open nothing in which axe finds anything, in %s', async (colorScheme) => {
      await page.emulateMedia({ colorScheme });
      await page.goto(mine('/keys', seller));
      await page.getByRole('button', { name: 'Make a key' }).click();
      expect(await inaccessible(page)).toEqual([]);
      await page.goto(mine('/receipts', seller));
      await page.getByRole('button', { name: 'Verify' }).first().click();
      await page.getByText('This browser checked').waitFor();
      expect(await inaccessible(page)).toEqual([]);
      const stranger = await openWindow(browser, harness, { colorScheme });
      await stranger.page.goto('/sign-in');
      await stranger.page.getByRole('button', { name: 'Test wallet' }).click();
      await stranger.page.getByText('exactly as it is').waitFor();
      expect(await inaccessible(stranger.page)).toEqual([]);
      await stranger.context.close();
    });

    it.each([320, 2560])('fit a screen of %i pixels', async (width) => {
      await expectToFit(page, width, full());
    });

    it('show what sellers and buyers wrote as text, and run none of it', async () => {
      for (const [path, shown] of full()) {
        await page.goto(path);
        await shown();
        for (const details of await page.locator('details > summary').all()) await details.click();
      }
      await page.goto(`/listings/${shop.listing.slug}`);
      await page.getByRole('button', { name: 'Call with play money' }).click();
      await page.getByText('The signature was checked in this browser').waitFor();
      for (const details of await page.locator('details > summary').all()) await details.click();
      expect(JSON.parse((await page.getByRole('region', { name: "The seller's answer" }).textContent())!)).toEqual({
        told: HOSTILE,
        [HOSTILE]: true,
      });
      expect(await page.locator('.review .prose').textContent()).toBe(HOSTILE);
      expect(await page.locator('main img, main script, main iframe').count()).toBe(0);
      expect(await page.evaluate(() => (globalThis as { hacked?: unknown }).hacked)).toBeUndefined();
      expect(window.violations).toEqual([]);
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
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'Download this page as CSV' }).click(),
      ]);
      const csv = await readFile(await download.path(), 'utf8');
      expect(csv.trim().split('\n')).toHaveLength(data.length + 1);
      await page.goto(mine('/statements', seller) + '&month=2020-01');
      await page.getByText('Nothing is booked in this month').waitFor();
      await page.goto(mine('/statements', seller) + '&month=soon');
      await page.getByRole('alert').filter({ hasText: 'named by its month' }).waitFor();
    }, 240_000);

    it('say so where there is nothing', async () => {
      const nothing: Record<(typeof MINE)[number], string> = {
        '': 'No calls in the last 30 days',
        '/calls': 'No calls here',
        '/ledger': 'Nothing is booked here',
        '/receipts': 'No receipts here',
        '/refunds': 'No refunds here',
        '/statements': 'Nothing is booked in this month',
        '/keys': 'Registration key',
        '/listings': 'It sells nothing',
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
        [mine('/ledger', seller), '/ledger?'],
        [mine('/receipts', seller), '/receipts?'],
        [mine('/refunds', seller), '/refunds?'],
        [mine('/statements', seller), '/statements/'],
        [mine('/keys', seller), '/api-keys?'],
        [mine('/listings', seller), '/listings?'],
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

    it('are worked by the keyboard alone', async () => {
      await page.goto(mine('/keys', seller));
      await page.getByRole('button', { name: 'Make a key' }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('dialog', { name: 'Make a key' }).waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'hidden' });
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Make a key');
      await page.goto('/');
      await page.getByRole('link', { name: 'Skip to content' }).waitFor({ state: 'attached' });
      await page.keyboard.press('Tab');
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to content');
      await page.keyboard.press('Enter');
      expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
    });
  });
});
