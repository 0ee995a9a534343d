/// <reference lib="dom" />
import { findProgram } from '@market/testing';
import axe from 'axe-core';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Locator,
  type Page,
  type Response,
} from 'playwright-core';
import { allInStandalone, type Agent, type Harness } from './harness.js';
import { expectKeyboardWell, putMouseAway } from './keyboard.js';

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

/** The widths of screens: a computer's, which is worked by the keyboard alone, and a phone's. */
const [DESK, PHONE] = [1440, 390];

export async function openWindow(
  browser: Browser,
  { baseUrl }: Harness,
  { width = 1280, ...options }: BrowserContextOptions & { width?: number } = {},
): Promise<Window> {
  const viewport = { width, height: 900 };
  const context = await browser.newContext({
    baseURL: baseUrl,
    locale: 'en-US',
    timezoneId: 'UTC',
    viewport,
    ...options,
  });
  const violations: string[] = [];
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  if (width === DESK) putMouseAway(page);
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

/** Claims an agent whose wallet is elsewhere: it agrees there, with the code that the page shows. */
export async function claim(page: Page, agent: Agent): Promise<void> {
  await page.goto(`/mine/claim?agent=${agent.id}`);
  await page.getByRole('button', { name: 'Continue' }).click();
  const command = await page.getByRole('region', { name: 'The command that claims the agent' }).textContent();
  await agent.market.agreeToClaim(command!.replace('market claim ', ''), agent.wallet);
  await page.waitForURL(`**/mine?agent=${agent.id}`);
}

/** Saves a screenshot of the page if SCREENSHOTS_DIR names a directory, as it does in CI. */
async function saveScreenshot(page: Page, name: string): Promise<void> {
  const directory = process.env.SCREENSHOTS_DIR;
  if (!directory) return;
  await mkdir(directory, { recursive: true });
  const file = name.replace(/[0-9a-f-]{36}/g, 'id').replace(/[^a-z0-9]+/gi, '-');
  const take = () => page.screenshot({ path: join(directory, `${file}.png`), fullPage: true, timeout: 15_000 });
  // On a busy machine the browser may not draw the frame that a screenshot waits for, so it is taken again.
  await take().catch(take);
}

/** The rules of axe that a page may keep in light and break in dark. */
const RULES_OF_COLORS = ['color-contrast', 'link-in-text-block'];

/** The violations of these rules that axe finds on the page, one line each. */
async function inaccessible(page: Page, rules?: string[]): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(
    (runOnly) => (window as unknown as { axe: typeof axe }).axe.run({ runOnly, resultTypes: ['violations'] }),
    rules,
  );
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/** Asserts that the page does not scroll horizontally. */
async function expectToFit(page: Page, what: unknown): Promise<void> {
  const beyond = await page.evaluate(() => document.body.scrollWidth - document.body.clientWidth);
  expect([what, beyond]).toEqual([what, 0]);
}

/** Asserts, in light and dark, that axe finds nothing on the page and that it does not scroll horizontally. */
export async function expectWell(page: Page, screenshot?: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const what = [screenshot, colorScheme];
    expect([what, await inaccessible(page, colorScheme === 'dark' ? RULES_OF_COLORS : undefined)]).toEqual([what, []]);
    await expectToFit(page, what);
    if (screenshot) await saveScreenshot(page, `${screenshot} ${colorScheme}`);
  }
}

/**
 * Asserts the same of each of these pages once it shows its content, on a computer and a phone, that it fits the smallest
 * and a large screen, and that it is worked by the keyboard.
 * @returns how many dialogs the pages opened.
 */
export async function expectAllWell(
  page: Page,
  pages: [path: string, shown: () => Promise<void>][],
  andThen: () => Promise<void>,
): Promise<number> {
  let dialogs = 0;
  for (const [path, shown] of pages) {
    await page.goto(path);
    await shown();
    for (const width of [PHONE, DESK]) {
      await page.setViewportSize({ width, height: 800 });
      await expectWell(page, `${path} ${width}`);
    }
    for (const width of [320, 2560]) {
      await page.setViewportSize({ width, height: 800 });
      await expectToFit(page, [path, width]);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    dialogs += await expectKeyboardWell(page, path);
    await andThen();
  }
  return dialogs;
}

/** Asserts that the page runs nothing of what users of the marketplace wrote. */
export async function expectNothingRun({ page, violations }: Window): Promise<void> {
  expect(await page.locator('main img, main script, main iframe').count()).toBe(0);
  expect(await page.evaluate(() => (globalThis as { hacked?: unknown }).hacked)).toBeUndefined();
  expect(violations).toEqual([]);
}

/** The widths at which flows are tried: both in standalone, and the larger, by the keyboard, in distributed mode. */
export const widthsIn = (harness: Harness): readonly number[] => allInStandalone(harness, [DESK, PHONE]);

/**
 * Clicks and waits for the answer to the change that this asks for, because the page may go on showing what became of
 * the one before.
 */
export async function clickToChange(button: Locator, path: string): Promise<Response> {
  const answered = button
    .page()
    .waitForResponse((response) => response.url().includes(path) && response.request().method() !== 'GET');
  await button.click();
  return answered;
}

/** Tests the endpoint of the listing that the page shows. */
export async function passTest(page: Page): Promise<void> {
  const answer = await clickToChange(page.getByRole('button', { name: 'Send test' }), '/endpoint/test');
  expect(await answer.json()).toMatchObject({ data: { success: true } });
  await page.getByText('The endpoint passed').waitFor();
}
