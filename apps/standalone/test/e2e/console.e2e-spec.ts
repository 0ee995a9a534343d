import { MarketplaceError } from '@market/sdk';
import { describeNeeding, eventually } from '@market/testing';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import type { Browser, Page } from 'playwright-core';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { claim, openWindow, passTest, signIn, startBrowser, widthsIn, type Window } from '../support/browser.js';
import { callOnce, reasonOf } from '../support/buyer.js';
import { inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';
import { openShop, type Shop } from '../support/seller.js';

const TEXT_SCHEMA = {
  type: 'object',
  properties: { text: { type: 'string', description: 'What is counted.' }, times: { type: 'integer' } },
  required: ['text'],
};

describeNeeding('chromium')('in a browser', () => {
  inEachMode('the console', (harness) => {
    describe.each(widthsIn(harness))('on a screen of %i pixels', (width) => {
      let browser: Browser;
      let window: Window;
      let page: Page;
      let seller: Agent;
      let shop: Shop;

      beforeAll(async () => {
        browser = await startBrowser();
        window = await openWindow(browser, harness, { width });
        ({ page } = window);
        seller = await registerAgent(harness, { displayName: 'The shop of the story' });
        shop = await openShop(
          seller,
          ({ body }) => ({ words: String((body as { text: string }).text).split(' ').length }),
          {
            name: `Counting for the console at ${width}`,
            pricing_amount: 0.25,
            input_schema: TEXT_SCHEMA,
            example_input: { text: 'to be or not to be' },
          },
        );
      });
      afterAll(async () => {
        await browser.close();
        await shop.close();
      });
      afterEach(() => expect(window.violations).toEqual([]));

      const tab = (name: string, of = 'Agent') =>
        page.getByRole('navigation', { name: of }).getByRole('link', { name }).click();

      const numbers = (): Promise<string[]> => page.locator('.numbers').allTextContents();
      /** Makes a call whose price is paid to the seller directly. */
      const signedCall = async (): Promise<void> => {
        const account = privateKeyToAccount(generatePrivateKey());
        const pay = wrapFetchWithPayment(fetch, new x402Client().register('eip155:*', new ExactEvmScheme(account)));
        const answer = await pay(`${harness.baseUrl}/api/v1/x402/${shop.listing.slug}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ text: 'paid to the seller' }),
        });
        expect(answer.status).toBe(200);
      };

      it('finds a listing by typing, and its address keeps the search', async () => {
        await page.goto('/catalog');
        await page.getByRole('searchbox', { name: 'Search' }).fill(`counting for the console at ${width}`);
        await page.waitForURL(/\?q=counting/);
        await page.reload();
        expect(await page.getByRole('searchbox', { name: 'Search' }).inputValue()).toBe(
          `counting for the console at ${width}`,
        );
        await page.getByRole('link', { name: shop.listing.name }).first().click();
        await page.getByRole('heading', { level: 1, name: shop.listing.name }).waitFor();
        expect(page.url()).toMatch(/\/listings\/counting-for-the-console/);
      });

      it('makes a paid call from the form, and checks its receipt', async () => {
        await page.goto(`/listings/${shop.listing.slug}`);
        await page.getByLabel('text').fill('one two three');
        await page.getByRole('button', { name: 'Call with play money' }).click();
        await page.getByText('The signature was checked in this browser').waitFor();
        expect(await page.getByRole('region', { name: "The seller's answer" }).textContent()).toContain('"words": 3');
        expect(await page.getByText('Charged $0.25').count()).toBe(1);
        expect(shop.requests.map(({ body }) => body)).toEqual([{ text: 'one two three' }]);
        // The page must not show the sandbox agent's key either.
        expect(await page.content()).not.toMatch(/am_k_\w/);
      });

      it('signs in with a test wallet that signs the message as it is shown, and claims the agent', async () => {
        await page.goto('/sign-in');
        await page.getByRole('button', { name: 'Test wallet' }).click();
        const message = await page.getByRole('region', { name: 'The message to be signed' }).textContent();
        expect(message).toMatch(/wants you to sign in with your Ethereum account:\n0x[0-9a-fA-F]{40}\n/);
        await page.getByRole('button', { name: 'Sign in', exact: true }).click();
        await page.getByRole('button', { name: 'Claim it' }).click();
        await page.getByRole('button', { name: 'Sign with the agent’s wallet' }).click();
        await page.getByRole('heading', { level: 1, name: 'Visitor of the sandbox' }).waitFor();
        await page.getByText('1 of 1 paid calls were delivered.').waitFor();
        await eventually(async () => expect(await numbers()).toContain('Earned, after fees$0.00Fees$0.00Spent$0.25'));
        const cookies = await window.context.cookies();
        expect(cookies).toMatchObject([{ name: 'am_session', httpOnly: true, secure: true, sameSite: 'Lax' }]);
      });

      it('shows the call as a timeline that ends at its receipt', async () => {
        await tab('Calls');
        await page.locator('tbody a').click();
        await page.getByRole('heading', { level: 1, name: `A call of ${shop.listing.name}` }).waitFor();
        expect(await page.locator('.steps > .done h2').allTextContents()).toEqual([
          'Asked',
          'Paid',
          'Answered',
          'Booked',
        ]);
        await page.getByRole('link', { name: 'Its receipt' }).click();
        await page.getByText('This browser checked the signature').waitFor();
        expect(await page.getByLabel('What was signed').textContent()).toContain('"gross_amount": 0.25');
        await page.keyboard.press('Escape');
        await page.getByRole('dialog').waitFor({ state: 'hidden' });
      });

      it('refuses a receipt in which something was changed', async () => {
        await page.route('**/proof?*', async (route) => {
          const answer = (await (await route.fetch()).json()) as { data: { jws: string } };
          const [header, payload, signature] = answer.data.jws.split('.') as [string, string, string];
          const claims = Buffer.from(payload, 'base64url')
            .toString()
            .replace('"gross_amount":0.25', '"gross_amount":0.01');
          answer.data.jws = [header, Buffer.from(claims).toString('base64url'), signature].join('.');
          await route.fulfill({ json: answer });
        });
        await page.goto('/mine/receipts');
        await page.getByRole('button', { name: 'Verify' }).click();
        await page.getByText('The signature does not fit the receipt').waitFor();
        expect(await page.getByText('This browser checked').count()).toBe(0);
        await page.unroute('**/proof?*');
      });

      it('shows the ledger, and gives it as CSV', async () => {
        await page.goto('/mine/ledger?type=direct_payment');
        await page.getByRole('cell', { name: 'direct payment' }).waitFor();
        expect(await page.locator('tbody tr td').allTextContents()).toEqual([
          expect.stringContaining('20'),
          'direct payment',
          'Paid',
          shop.listing.name,
          '$0.25',
          '',
          '-$0.25',
        ]);
        const [download] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('button', { name: 'Download as CSV' }).click(),
        ]);
        const chunks: Buffer[] = [];
        for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
        const [head, ...rows] = Buffer.concat(chunks).toString().trim().split('\r\n');
        expect(head).toContain('amount_cents');
        expect(rows).toHaveLength(1);
      });

      it('makes a key that is shown once and works, and revokes it', async () => {
        await page.goto('/mine/keys');
        await page.getByRole('button', { name: 'Make a key' }).click();
        await page.getByLabel(/^Name/).fill('For the story');
        await page.getByLabel('It ends').selectOption('in a week');
        await page.getByLabel('a day (UTC), in US dollars').fill('1');
        await page.getByRole('button', { name: 'Make it' }).click();
        const key = (await page.getByRole('region', { name: 'New key' }).textContent())!;
        await page.getByRole('button', { name: 'I have kept it' }).click();
        await page.getByRole('row', { name: /For the story.*\$1\.00 a day \(UTC\)/ }).waitFor();
        const spentToday = page.locator('dt', { hasText: 'Spent today' }).locator('+ dd');
        expect(await spentToday.textContent()).toBe('$0.25');
        expect(await page.content()).not.toContain(key);
        const agent = stranger(harness).authorizedBy(`Bearer ${key}`);
        expect(await agent.me()).toMatchObject({ display_name: 'Visitor of the sandbox' });
        const made = (await agent.apiKeys.list()).find(({ name }) => name === 'For the story')!;
        expect(Date.parse(made.expires_at!) - Date.parse(made.created_at)).toBeCloseTo(7 * 86_400_000, -5);
        await page.getByRole('button', { name: 'Revoke For the story' }).click();
        await page.getByRole('button', { name: 'Revoke it' }).click();
        await page.getByRole('row', { name: /For the story.*revoked/ }).waitFor();
        await eventually(() => expect(agent.me()).rejects.toBeInstanceOf(MarketplaceError), { withinMs: 20_000 });
      });

      it('bounds what a key may spend, and stops all payments of the agent at once', async () => {
        await page.getByRole('button', { name: 'Make a key' }).click();
        await page.getByLabel(/^Name/).fill('Bounded');
        await page.getByRole('button', { name: 'Make it' }).click();
        const key = (await page.getByRole('region', { name: 'New key' }).textContent())!;
        await page.getByRole('button', { name: 'I have kept it' }).click();
        const market = stranger(harness).authorizedBy(`Bearer ${key}`);
        const quoted = async () => {
          const answer = await callOnce({ market } as Agent, shop.listing, { text: 'of the bounded' });
          return [answer.status, reasonOf(answer)];
        };
        expect(await quoted()).toEqual([402, undefined]);

        await page.getByRole('button', { name: 'Budget of Bounded' }).click();
        await page.getByLabel('A call, in US dollars').fill('0.1');
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByRole('row', { name: /Bounded.*\$0\.10 a call/ }).waitFor();
        await eventually(async () => expect(await quoted()).toEqual([403, 'budget_exceeded']), { withinMs: 20_000 });
        await page.getByRole('button', { name: 'Budget of Bounded' }).click();
        await page.getByLabel('A call, in US dollars').fill('');
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByRole('dialog').waitFor({ state: 'hidden' });
        await eventually(async () => expect(await quoted()).toEqual([402, undefined]), { withinMs: 20_000 });

        await page.getByRole('button', { name: 'Stop all payments' }).click();
        await page.getByRole('button', { name: 'Let it pay again' }).waitFor();
        await eventually(async () => expect(await quoted()).toEqual([403, 'budget_exceeded']), { withinMs: 20_000 });
        await page.getByRole('button', { name: 'Let it pay again' }).click();
        await page.getByRole('button', { name: 'Stop all payments' }).waitFor();
        await eventually(async () => expect(await quoted()).toEqual([402, undefined]), { withinMs: 20_000 });
      });

      it('claims a seller that agrees with a code, and looks after its endpoint', async () => {
        await claim(page, seller);
        await eventually(async () =>
          expect(await numbers()).toEqual([
            'To be paid out$0.2375Fees due$0.00Refunds owed to it$0.00Refunds it owes$0.00',
            'Earned, after fees$0.2375Fees$0.0125Spent$0.00',
          ]),
        );
        // An event of the sale refreshes the page.
        await signedCall();
        await eventually(async () =>
          expect(await numbers()).toEqual([
            'To be paid out$0.2375Fees due$0.0125Refunds owed to it$0.00Refunds it owes$0.00',
            'Earned, after fees$0.475Fees$0.025Spent$0.00',
          ]),
        );
        await tab('Money');
        await page.getByRole('button', { name: 'Pay $0.0125' }).click();
        await page.getByRole('button', { name: 'Test wallet' }).click();
        await page.getByText('$0.0125 were paid by').waitFor();
        await page.getByRole('button', { name: 'Close' }).click();
        await page.getByRole('heading', { name: 'Fees due: $0.00' }).waitFor();
        await tab('Ledger', 'Money');
        await page.getByRole('cell', { name: /Received 0x/ }).waitFor();
        await tab('Listings');
        await page.getByRole('link', { name: shop.listing.name }).click();
        await passTest(page);

        const buyer = await registerAgent(harness);
        const quoted = async () => {
          const answer = await callOnce(buyer, shop.listing, { text: 'a' });
          return [answer.status, reasonOf(answer)];
        };
        const FOR_SALE = [402, undefined];
        expect(await quoted()).toEqual(FOR_SALE);
        await page.getByRole('button', { name: 'Pause' }).click();
        await page.getByRole('button', { name: 'Resume' }).waitFor();
        await eventually(async () => expect(await quoted()).toEqual([400, 'endpoint_unavailable']), {
          withinMs: 20_000,
        });
        await page.getByRole('button', { name: 'Resume' }).click();
        await page.getByRole('button', { name: 'Pause' }).waitFor();
        await eventually(async () => expect(await quoted()).toEqual(FOR_SALE), { withinMs: 20_000 });

        await page.getByRole('button', { name: 'Rotate signing secret' }).click();
        await page.getByRole('button', { name: 'Rotate it' }).click();
        const secret = (await page.getByRole('region', { name: 'New secret' }).textContent())!;
        expect(secret).toMatch(/^whsec_/);
        await page.getByRole('button', { name: 'I have kept it' }).click();
        expect(await page.content()).not.toContain(secret);

        await page.getByRole('button', { name: 'Withdraw' }).click();
        await page.getByRole('button', { name: 'Withdraw it' }).click();
        await page.getByRole('button', { name: 'Publish' }).waitFor();
        await eventually(async () => expect(await quoted()).toEqual([404, 'listing_not_found']), { withinMs: 20_000 });
        await page.getByRole('button', { name: 'Publish' }).click();
        await page.getByRole('button', { name: 'Withdraw' }).waitFor();
      });

      it('switches between agents, and says of an agent of somebody else that it is none of theirs', async () => {
        await page.getByRole('combobox', { name: 'Agent' }).selectOption('Visitor of the sandbox');
        await page.getByText('No listings yet').waitFor();
        const other = await registerAgent(harness);
        await page.goto(`/mine?agent=${other.id}`);
        await page.getByRole('heading', { name: 'Not one of your agents' }).waitFor();
      });

      it('asks now and then where the stream of events is refused', async () => {
        const other = await window.context.newPage();
        await other.clock.install();
        await other.route('**/api/v1/events?*', (route) => route.fulfill({ status: 429 }));
        await other.goto(`/mine?agent=${seller.id}`);
        const books = other.locator('.numbers').filter({ hasText: 'Earned' });
        await books.getByText('$0.475').waitFor();
        await signedCall();
        await eventually(async () => {
          await other.clock.fastForward(16_000);
          expect(await books.textContent()).toContain('$0.7125');
        });
        await other.close();
      });

      it('signs out, and shows nothing more', async () => {
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.getByRole('link', { name: 'Sign in' }).waitFor();
        expect(await window.context.cookies()).toEqual([]);
        await page.goto('/mine');
        await page.getByText('Sign in to see what your agents earn and spend').waitFor();
        await signIn(page);
        await page.getByRole('heading', { level: 1, name: 'Visitor of the sandbox' }).waitFor();
      });
    });
  });
});
