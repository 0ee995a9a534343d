import { sellerServer, type SellerServer } from '@market/sdk/seller';
import { describeNeeding, eventually } from '@market/testing';
import { createServer, type Server } from 'node:http';
import type { Browser, Locator, Page } from 'playwright-core';
import {
  claim,
  clickToChange,
  expectWell,
  openWindow,
  passTest,
  signIn,
  startBrowser,
  widthsIn,
  type Window,
} from '../support/browser.js';
import { callOnce, reasonOf } from '../support/buyer.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

const EXAMPLE = { text: 'to be or not to be', times: 2 };

describeNeeding('chromium')('in a browser', () => {
  inEachMode('selling in the console', (harness) => {
    describe.each(widthsIn(harness))('on a screen of %i pixels', (width) => {
      let browser: Browser;
      let window: Window;
      let page: Page;
      let seller: Agent;
      let buyer: Agent;
      let server: SellerServer;
      let secret = '';
      let listingId: string;

      beforeAll(async () => {
        browser = await startBrowser();
        window = await openWindow(browser, harness, { width });
        ({ page } = window);
        [seller, buyer] = (await Promise.all([
          registerAgent(harness, { displayName: 'A seller of the console' }),
          registerAgent(harness),
        ])) as [Agent, Agent];
        server = await sellerServer(
          ({ body }) => ({ words: String((body as typeof EXAMPLE).text).split(' ').length }),
          {
            secret: () => secret,
          },
        );
        await signIn(page);
        await claim(page, seller);
      });
      afterAll(async () => {
        await browser.close();
        await server.close();
      });
      afterEach(() => expect(window.violations).toEqual([]));

      const refused = (): Promise<void> => page.getByText('Some fields need a change').waitFor();
      const button = (name: string | RegExp): Locator => page.getByRole('button', { name });
      const field = (label: string): Locator => page.getByLabel(label, { exact: true });
      /** What the marketplace said is wrong with a field. */
      const problemOf = async (label: string): Promise<string> => {
        const input = page.getByLabel(label, { exact: true });
        expect(await input.getAttribute('aria-invalid')).toBe('true');
        return (await page.locator(`[id="${await input.getAttribute('aria-describedby')}"] .error`).textContent())!;
      };
      const keptSecret = async (label: string): Promise<string> => {
        const shown = (await page.getByRole('region', { name: label }).textContent())!;
        await expectWell(page);
        await button('I have kept it').click();
        await page.getByRole('dialog').waitFor({ state: 'hidden' });
        expect(await page.content()).not.toContain(shown);
        return shown;
      };
      const quoted = async (): Promise<unknown[]> => {
        const answer = await callOnce(buyer, { id: listingId }, EXAMPLE);
        return [answer.status, reasonOf(answer)];
      };
      const expectQuoted = (...expected: unknown[]): Promise<void> =>
        eventually(async () => expect(await quoted()).toEqual(expected), { withinMs: 20_000 });

      it('says at each field what is wrong with it, all at once', async () => {
        await page.goto(`/mine/listings?agent=${seller.id}`);
        await page.getByText('No listings yet').waitFor();
        await page.getByRole('link', { name: 'New listing' }).click();
        await page.getByLabel('Input schema').fill('{ not yet');
        await button('Save as draft').click();
        await refused();
        expect(await problemOf('Name')).toContain('2 to 100');
        expect(await problemOf('Description')).toContain('10 to 5000');
        expect(await problemOf('Price in US dollars')).toContain('must be');
        expect(await problemOf('Endpoint URL')).not.toBe('');
        expect(await problemOf('Input schema (optional)')).toContain('must be a JSON object');
        expect(await page.evaluate(() => document.activeElement?.previousElementSibling?.textContent)).toBe('Name');
        await expectWell(page, `new listing, refused, ${width}`);
      });

      it('creates a draft by the keyboard alone, with a schema from an example, and shows the secret once', async () => {
        const type = async (label: string, text: string): Promise<void> => {
          await page.getByLabel(label).first().focus();
          await page.keyboard.press('ControlOrMeta+A');
          await page.keyboard.insertText(text);
        };
        await type('Name', `Counting words at ${width}`);
        await type('Description', 'Counts the words of a text, for agents that read much.');
        await type('Tags', 'words, counting,text');
        await type('Price in US dollars', '0.25');
        await type('Endpoint URL', `${server.url}/call`);
        await type('Example body', JSON.stringify(EXAMPLE));
        await type('Formats of requests', 'json, png');
        await button('Build the schema from the example').focus();
        await page.keyboard.press('Enter');
        expect(JSON.parse(await page.getByLabel('Input schema').inputValue())).toEqual({
          type: 'object',
          properties: { text: { type: 'string' }, times: { type: 'integer' } },
          required: ['text', 'times'],
        });
        await button('Save as draft').focus();
        await page.keyboard.press('Enter');
        await page.getByRole('dialog', { name: 'The signing secret' }).waitFor({ timeout: 30_000 });
        await window.context.grantPermissions(['clipboard-read', 'clipboard-write']);
        await button('Copy Signing secret').click();
        await button('Copied').waitFor();
        secret = await keptSecret('Signing secret');
        expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(secret);
        await page.getByRole('heading', { level: 1, name: `Counting words at ${width}` }).waitFor();
        listingId = new URL(page.url()).pathname.split('/').pop()!;
        expect(await seller.market.listings.get({ id: listingId })).toMatchObject({
          status: 'draft',
          tags: ['words', 'counting', 'text'],
          request_formats: ['json', 'png'],
          pricing_amount: 0.25,
          example_input: EXAMPLE,
        });
        // What took a key was done with one that is gone.
        const made = (await seller.market.apiKeys.list()).filter(({ name }) => name.startsWith('Console: '));
        expect(made.length).toBeGreaterThan(0);
        expect(made.filter(({ is_active }) => is_active)).toEqual([]);
      });

      it('tests the endpoint, and shows what was sent and what came back', async () => {
        await field('Body (optional)').fill('{ "text": 1 }');
        await button('Send test').click();
        await refused();
        expect(await problemOf('Body (optional)')).toMatch(/\/text|\/times|times/);
        await field('Body (optional)').fill(JSON.stringify({ text: 'one two three', times: 1 }));
        await passTest(page);
        const request = (await page.getByRole('region', { name: 'The signed request' }).textContent())!;
        expect(request).toContain(`X-Market-Listing-Id: ${listingId}`);
        expect(request).toContain('{"text":"one two three","times":1}');
        expect(await page.getByRole('region', { name: 'The response' }).textContent()).toContain('"words": 3');
        await page.locator('dd .badge', { hasText: 'active' }).waitFor();
        await expectWell(page, `listing, tested, ${width}`);
      });

      it('publishes it', async () => {
        expect(await quoted()).toEqual([404, 'listing_not_found']);
        await button('Publish').click();
        await button('Withdraw').waitFor();
        await expectQuoted(402, undefined);
      });

      it('edits all of it, and what the marketplace refuses stands at its field', async () => {
        await page.getByLabel('Name').first().fill(`Words at ${width}, counted`);
        await page.getByLabel('Price in US dollars').fill('-1');
        await button('Save changes').click();
        await refused();
        expect(await problemOf('Price in US dollars')).not.toBe('');
        await page.getByLabel('Price in US dollars').fill('0.5');
        await button('Save changes').click();
        await page.getByRole('status').filter({ hasText: 'Saved' }).waitFor();
        await page.getByRole('heading', { level: 1, name: `Words at ${width}, counted` }).waitFor();
        expect(await seller.market.listings.get({ id: listingId })).toMatchObject({
          pricing_amount: 0.5,
          tags: ['words', 'counting', 'text'],
          status: 'active',
        });
      });

      it('sets URL, credentials and limits of the endpoint', async () => {
        // Either form of the page may still say that it was saved.
        const saveSettings = async (): Promise<void> => {
          expect((await clickToChange(button('Save settings'), '/endpoint')).status()).toBe(200);
          await page
            .locator('form', { has: page.getByLabel('Calls at once') })
            .getByText('Saved', { exact: true })
            .waitFor();
        };
        const seen: unknown[] = [];
        const other: Server = createServer((request, response) => {
          seen.push(request.headers['x-api-key']);
          response.setHeader('content-type', 'application/json').end('{"ok":true}');
        });
        await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
        const { port } = other.address() as { port: number };
        await page.getByLabel('Timeout in milliseconds').fill('5');
        await page.getByLabel('Calls at once').fill('0');
        await button('Save settings').click();
        await refused();
        expect(await problemOf('Timeout in milliseconds')).toContain('1000');
        expect(await problemOf('Calls at once')).toContain('1 to 256');
        await page.getByLabel('Timeout in milliseconds').fill('5000');
        await page.getByLabel('Calls at once').fill('3');
        await page.getByLabel('New endpoint URL').fill(`http://127.0.0.1:${port}/elsewhere`);
        await field('Auth header (optional)').fill('X-Api-Key');
        await page.getByLabel('Value of the auth header').fill('known to the seller');
        await saveSettings();
        expect(await seller.market.endpoint.get({ id: listingId })).toMatchObject({
          timeout_ms: 5_000,
          auth_header_name: 'X-Api-Key',
          limits: { max_concurrency: 3 },
        });
        expect(await page.content()).not.toContain('known to the seller');
        await passTest(page);
        expect(seen).toEqual(['known to the seller']);
        await page.getByLabel('New endpoint URL').fill(`${server.url}/call`);
        await field('Auth header (optional)').fill('');
        await saveSettings();
        expect(await seller.market.endpoint.get({ id: listingId })).toMatchObject({ has_auth_header: false });
        await new Promise((resolve) => other.close(resolve).closeAllConnections());
      });

      it('pauses and resumes it, and rotates its secret', async () => {
        await button('Pause').click();
        await button('Resume').waitFor();
        await expectQuoted(400, 'endpoint_unavailable');
        await button('Resume').click();
        await button('Pause').waitFor();
        await expectQuoted(402, undefined);
        await button('Rotate signing secret').click();
        await page.getByText('For 24 hours calls are signed with both secrets').waitFor();
        await button('Rotate it').click();
        await page.getByRole('dialog', { name: 'The new secret' }).waitFor();
        secret = await keptSecret('New secret');
        expect(secret).toMatch(/^whsec_/);
        await passTest(page);
      });

      it('withdraws it after it has said what happens to calls already paid for, and deletes the draft', async () => {
        await button('Withdraw').click();
        const dialog = page.getByRole('dialog', { name: /^Withdraw/ });
        await dialog.getByText('refunded to their buyers').waitFor();
        await expectWell(page, `withdraw, ${width}`);
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'hidden' });
        expect(await quoted()).toEqual([402, undefined]);
        await button('Withdraw').click();
        await button('Withdraw it').click();
        await button('Publish').waitFor();
        await expectQuoted(404, 'listing_not_found');
        await button('Delete draft').click();
        await button('Delete it').click();
        await page.getByText('No listings yet').waitFor();
        expect((await seller.market.listings.search({ mine: true })).data).toEqual([]);
      });
    });
  });
});
