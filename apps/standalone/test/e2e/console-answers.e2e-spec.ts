/// <reference lib="dom" />
import { sandboxPayer } from '@market/sdk';
import { file, job } from '@market/sdk/seller';
import { describeNeeding, eventually } from '@market/testing';
import { once } from 'node:events';
import type { Browser, Page } from 'playwright-core';
import { claim, expectWell, openWindow, signIn, startBrowser, widthsIn, type Window } from '../support/browser.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { openShop, type Shop } from '../support/seller.js';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** A tenth of a second of silence. */
function wav(): Buffer {
  const samples = Buffer.alloc(800, 128);
  const head = Buffer.alloc(44);
  head.write('RIFF');
  head.writeUInt32LE(36 + samples.length, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8_000, 24);
  head.writeUInt32LE(8_000, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36);
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]);
}

describeNeeding('chromium')('in a browser', () => {
  inEachMode('the answers of calls in the console', (harness) => {
    describe.each(widthsIn(harness))('on a screen of %i pixels', (width) => {
      const told = new EventTarget();
      let browser: Browser;
      let window: Window;
      let page: Page;
      let seller: Agent;
      let buyer: Agent;
      let shop: Shop;

      async function* words(): AsyncGenerator<string> {
        yield 'the first <b>word</b>';
        await once(told, 'go on');
        yield 'the second word';
        await once(told, 'go on');
      }

      beforeAll(async () => {
        browser = await startBrowser();
        window = await openWindow(browser, harness, { width });
        ({ page } = window);
        [seller, buyer] = (await Promise.all([
          registerAgent(harness, { displayName: 'A seller of answers' }),
          registerAgent(harness, { displayName: 'A buyer of answers' }),
        ])) as [Agent, Agent];
        const answers: Record<string, () => unknown> = {
          png: () => file(PNG, 'image/png'),
          wav: () => file(wav(), 'audio/wav'),
          pdf: () => file(PNG, 'application/pdf'),
          words,
          job: () =>
            job(async ({ progress, signal }) => {
              await progress({ percent: 40, message: 'Reading page 8' });
              await once(signal, 'abort');
              throw new Error('cancelled');
            }),
        };
        shop = await openShop(seller, ({ body }) => answers[(body as { as: string }).as]!(), {
          formats: ['json', 'png', 'wav', 'pdf', 'sse'],
        });
        await signIn(page);
        await claim(page, buyer);
      });
      afterAll(async () => {
        await browser.close();
        await shop.close();
      });
      afterEach(() => expect(window.violations).toEqual([]));

      const paying = () => ({ pay: sandboxPayer(buyer.market) });
      const buy = async (as: string): Promise<string> =>
        (await buyer.market.call(shop.listing, { as }, paying())).request_id;
      const show = (requestId: string) => page.goto(`/mine/calls/${requestId}?agent=${buyer.id}`);

      it('are shown as they come, if they are streams', async () => {
        const stream = await buyer.market.stream(shop.listing, { as: 'words' }, paying());
        const [call] = (await buyer.market.gatewayRequests.list({ limit: 1 })).data;
        await show(call!.id);
        const events = page.getByRole('log', { name: 'Its events' });
        await events.getByText('the first <b>word</b>').waitFor();
        await page.getByText('1 event, and it goes on').waitFor();
        await expectWell(page, `a stream that goes on, ${width}`);
        told.dispatchEvent(new Event('go on'));
        await events.getByText('the second word').waitFor();
        told.dispatchEvent(new Event('go on'));
        await page.getByText('2 events, completed').waitFor();
        expect(await stream.result()).toMatchObject({ outcome: 'completed' });
        await page.reload();
        await page.getByText('2 events, completed').waitFor();
        await expectWell(page);
      });

      it('are shown, if they are images or sounds, and saved, if they are other files', async () => {
        await show(await buy('png'));
        const image = page.getByRole('img', { name: 'What the seller sent' });
        await image.waitFor();
        await eventually(async () =>
          expect(await image.evaluate((shown) => (shown as HTMLImageElement).naturalWidth)).toBe(1),
        );
        await expectWell(page, `an image, ${width}`);
        await show(await buy('wav'));
        const sound = page.locator('audio');
        await eventually(async () =>
          expect(await sound.evaluate((heard) => (heard as HTMLAudioElement).duration)).toBeCloseTo(0.1),
        );
        await expectWell(page);
        const pdf = await buy('pdf');
        await show(pdf);
        const saving = page.waitForEvent('download');
        await page.getByRole('link', { name: 'Save it' }).click();
        expect((await saving).suggestedFilename()).toBe(`${pdf}.pdf`);
      });

      it('are shown as they get on, if they are jobs, and cancelled by who agrees to ask', async () => {
        const working = await buyer.market.job(shop.listing, { as: 'job' }, paying());
        await show(working.requestId!);
        await page.getByText('40 %, Reading page 8').waitFor();
        expect(await page.getByRole('progressbar', { name: 'How far the seller is' }).getAttribute('value')).toBe('40');
        await expectWell(page, `a job, ${width}`);
        await page.getByRole('button', { name: 'Cancel the job' }).click();
        await expectWell(page);
        await page.getByRole('button', { name: 'Ask it' }).click();
        await page.getByText('refund due').waitFor();
        expect(await working.result()).toMatchObject({ billable: false, seller_response: { reason: 'cancelled' } });
        await expectWell(page, `a job that was cancelled, ${width}`);
      });
    });
  });
});
