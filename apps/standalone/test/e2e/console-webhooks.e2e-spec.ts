import { describeNeeding, eventually } from '@market/testing';
import type { Browser, Page } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import { claim, expectWell, openWindow, signIn, startBrowser, widthsIn, type Window } from '../support/browser.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { rogueServer, type RogueServer } from '../support/seller.js';
import { freeFeed, listFeed, subscribeOnce } from '../support/subscriber.js';

describeNeeding('chromium')('in a browser', () => {
  inEachMode('webhooks in the console', (harness) => {
    describe.each(widthsIn(harness))('on a screen of %i pixels', (width) => {
      let browser: Browser;
      let window: Window;
      let page: Page;
      let agent: Agent;
      let receiver: RogueServer;
      let status: number;
      const seen: { headers: Record<string, string>; rawBody: string }[] = [];

      beforeAll(async () => {
        receiver = await rogueServer((request, response) => {
          const chunks: Buffer[] = [];
          request.on('data', (chunk: Buffer) => chunks.push(chunk));
          request.on('end', () => {
            const headers = request.headers as Record<string, string>;
            seen.push({ headers, rawBody: Buffer.concat(chunks).toString() });
            response.writeHead(status).end();
          });
        });
        browser = await startBrowser();
        window = await openWindow(browser, harness, { width });
        ({ page } = window);
        agent = await registerAgent(harness);
        await signIn(page);
        await claim(page, agent);
      });
      beforeEach(() => void (status = 204));
      afterAll(async () => {
        await browser?.close();
        await receiver?.close();
      });
      afterEach(() => expect(window.violations).toEqual([]));

      const dialog = () => page.getByRole('dialog');
      const button = (name: string | RegExp) => page.getByRole('button', { name });
      const shownSecret = async (): Promise<string> => {
        const secret = (await dialog().getByRole('region', { name: 'New secret' }).textContent())!;
        await dialog().getByRole('button', { name: 'I have kept it' }).click();
        return secret;
      };
      const sent = () => button('Send a test Bookkeeping');
      let secret: string;

      it('are added, with the secret once and with what is wrong said at its field, and tested', async () => {
        await page.goto(`/mine/webhooks?agent=${agent.id}`);
        await page.getByText('No webhooks').waitFor();
        await expectWell(page, `no webhooks, ${width}`);
        await button('Add a webhook').click();
        await dialog().getByLabel('Address, with https://').fill('ftp://hooks.example');
        await dialog().getByRole('button', { name: 'Add it' }).click();
        await dialog().locator('.error').first().waitFor();
        await expectWell(page, `add a webhook, ${width}`);
        await dialog().getByLabel('Address, with https://').fill(receiver.url);
        await dialog().getByLabel(/^Name/).fill('Bookkeeping');
        await dialog()
          .getByLabel(/^subscription started/)
          .check();
        await dialog().getByRole('button', { name: 'Add it' }).click();
        secret = await shownSecret();
        await page.getByRole('heading', { name: 'Bookkeeping' }).waitFor();
        await sent().click();
        await page.getByText('The test arrived: answered 204').waitFor();
        const { rawBody, headers } = seen.at(-1)!;
        expect(new Webhook(secret).verify(rawBody, headers)).toMatchObject({ type: 'test' });
        await expectWell(page, `webhooks, ${width}`);
        status = 500;
        await sent().click();
        await page.getByText('The test failed: answered 500').waitFor();
      });

      it('show what was sent and what became of it, and send it again', async () => {
        status = 503;
        const seller = await registerAgent(harness);
        expect(await subscribeOnce(agent, { listing_id: (await listFeed(seller, freeFeed)).id })).toMatchObject({
          status: 201,
        });
        await page.getByRole('link', { name: 'Deliveries to Bookkeeping' }).click();
        const row = page.getByRole('row', { name: /subscription started/ });
        await row.getByText(/^503 in/).waitFor();
        await expectWell(page, `deliveries, ${width}`);
        status = 204;
        await row.getByRole('button', { name: /^Send again/ }).click();
        await row.getByText('delivered').waitFor();
        await row.getByRole('button', { name: /^Show/ }).click();
        await dialog().getByText('"type": "subscription_started"').waitFor();
        await expectWell(page, `a delivery, ${width}`);
        await page.keyboard.press('Escape');
      });

      it('are paused, given another secret and deleted, after they have asked', async () => {
        await page.goto(`/mine/webhooks?agent=${agent.id}`);
        await button('Pause Bookkeeping').click();
        await button('Resume Bookkeeping').waitFor();
        expect((await agent.market.webhooks.list())[0]).toMatchObject({ status: 'paused' });
        await button('Rotate secret Bookkeeping').click();
        await dialog().getByRole('button', { name: 'Rotate it' }).click();
        expect(await shownSecret()).not.toBe(secret);
        await button('Delete Bookkeeping').click();
        await expectWell(page, `delete a webhook, ${width}`);
        await dialog().getByRole('button', { name: 'Delete it' }).click();
        await page.getByText('No webhooks').waitFor();
        await eventually(async () => expect(await agent.market.webhooks.list()).toEqual([]));
      });
    });
  });
});
