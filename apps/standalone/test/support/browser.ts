/// <reference lib="dom" />
import { findProgram } from '@market/testing';
import axe from 'axe-core';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core';
import type { Agent, Harness } from './harness.js';

/** Starts Debian's Chromium as root on a machine without a screen. */
export const startBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: findProgram('chromium', 'chromium'),
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });

/** A browser window of its own, with no cookie and nothing stored. */
export interface Window {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Uncaught errors of the page and violations of its Content-Security-Policy. */
  readonly violations: string[];
}

export async function openWindow(
  browser: Browser,
  { baseUrl }: Harness,
  options: BrowserContextOptions = {},
): Promise<Window> {
  const context = await browser.newContext({ baseURL: baseUrl, locale: 'en-US', timezoneId: 'UTC', ...options });
  const violations: string[] = [];
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  page.on('pageerror', ({ message }) => void violations.push(`error: ${message}`));
  page.on('dialog', (dialog) => {
    violations.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await context.exposeBinding('reportViolation', (_source, what: string) => void violations.push(`policy: ${what}`));
  await context.addInitScript(() =>
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      (window as unknown as { reportViolation(what: string): void }).reportViolation(
        `${violatedDirective} ${blockedURI}`,
      ),
    ),
  );
  return { page, context, violations };
}

/** Signs in with the test wallet that the page offers in the sandbox. */
export async function signIn(page: Page): Promise<void> {
  await page.goto('/sign-in');
  await page.getByRole('button', { name: 'Test wallet' }).click();
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL('**/mine');
}

/** Claims an agent whose wallet is elsewhere: the message is signed there and its signature pasted. */
export async function claim(page: Page, agent: Agent): Promise<void> {
  await page.goto('/mine/claim');
  await page.getByLabel('Agent id').fill(agent.id);
  await page.getByLabel('Address of its wallet').fill(agent.wallet.address);
  await page.getByRole('button', { name: 'Continue' }).click();
  const message = await page.getByRole('region', { name: 'The message to be signed' }).textContent();
  await page.getByLabel('Or sign it where the wallet is').fill(await agent.wallet.sign(message!));
  await page.getByRole('button', { name: 'Claim', exact: true }).click();
  await page.waitForURL(`**/mine?agent=${agent.id}`);
}

/** Saves a screenshot of the page if SCREENSHOTS_DIR names a directory, as it does in CI. */
export async function saveScreenshot(page: Page, name: string): Promise<void> {
  const directory = process.env.SCREENSHOTS_DIR;
  if (!directory) return;
  await mkdir(directory, { recursive: true });
  const file = name.replace(/[0-9a-f-]{36}/g, 'id').replace(/[^a-z0-9]+/gi, '-');
  const take = () => page.screenshot({ path: join(directory, `${file}.png`), fullPage: true, timeout: 15_000 });
  // On a busy machine the browser may not draw the frame that a screenshot waits for, so it is taken again.
  await take().catch(take);
}

/** The violations that axe finds on the page, one line each. */
export async function inaccessible(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => (window as unknown as { axe: typeof axe }).axe.run());
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/** Asserts that none of these pages scrolls horizontally on a screen of this width, once its content is shown. */
export async function expectToFit(
  page: Page,
  width: number,
  pages: [path: string, shown: () => Promise<void>][],
): Promise<void> {
  await page.setViewportSize({ width, height: 800 });
  for (const [path, shown] of pages) {
    await page.goto(path);
    await shown();
    const beyond = await page.evaluate(() => document.body.scrollWidth - document.body.clientWidth);
    expect([path, beyond]).toEqual([path, 0]);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}
