/// <reference lib="dom" />
import type { Locator, Page } from 'playwright-core';

const CONTROLS =
  'a[href], button:enabled, input:enabled, select:enabled, textarea:enabled, summary, audio[controls], [tabindex="0"]';

/**
 * Where the focus is, and whether it is seen: it has an outline, is in view, and nothing is above it. Runs in the page.
 */
function focusIn(wanted: Element | SVGElement | null) {
  const active = document.activeElement ?? document.body;
  const { outlineStyle, outlineWidth } = getComputedStyle(active);
  const { left, right, top, bottom } = active.getBoundingClientRect();
  const middle = (from: number, to: number, most: number): number => (Math.max(from, 0) + Math.min(to, most)) / 2;
  const above = document.elementFromPoint(middle(left, right, innerWidth), middle(top, bottom, innerHeight));
  return {
    isThere: active === wanted,
    isAtStart: active === document.body,
    isSeen:
      outlineStyle !== 'none' &&
      Number(outlineWidth.replace('px', '')) >= 2 &&
      above !== null &&
      (active.contains(above) || above.contains(active)),
    control: active.getAttribute('data-control'),
    html: active.outerHTML.slice(0, 150),
  };
}

/** Goes to a control as somebody without a mouse does. @throws Error if Tab does not lead to it, or the focus is not seen. */
async function tabTo(target: Locator): Promise<void> {
  const page = target.page();
  await target.and(page.locator(':not(:disabled)')).waitFor();
  for (let rounds = 0; rounds < 3;) {
    const { isThere, isSeen, isAtStart } = await target.evaluate(focusIn);
    if (isThere && isSeen) return;
    if (isThere) throw new Error(`The focus on ${String(target)} is not seen.`);
    if (isAtStart) rounds += 1;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not lead to ${String(target)}.`);
}

const BY_KEYS = {
  async click(target: Locator): Promise<void> {
    await tabTo(target);
    await target.page().keyboard.press('Enter');
  },
  async check(target: Locator): Promise<void> {
    await tabTo(target);
    if (!(await target.isChecked())) await target.page().keyboard.press('Space');
  },
  async fill(target: Locator, text: string): Promise<void> {
    await tabTo(target);
    const { keyboard } = target.page();
    await keyboard.press('ControlOrMeta+A');
    await (text === '' ? keyboard.press('Delete') : keyboard.insertText(text));
  },
  async selectOption(target: Locator, wanted: string): Promise<void> {
    await tabTo(target);
    const steps = await target.evaluate((element, option) => {
      const { options, selectedIndex } = element as HTMLSelectElement;
      return [...options].findIndex(({ value, label }) => value === option || label === option) - selectedIndex;
    }, wanted);
    for (let step = 0; step < Math.abs(steps); step += 1)
      await target.page().keyboard.press(steps > 0 ? 'ArrowDown' : 'ArrowUp');
  },
};

const withoutMouse = new WeakSet<Page>();

/** From now on, everything that a test does on the page is done by the keyboard. */
export function putMouseAway(page: Page): void {
  withoutMouse.add(page);
  type Acts = Record<keyof typeof BY_KEYS, (...given: unknown[]) => Promise<unknown>>;
  const acts = Object.getPrototypeOf(page.locator('body')) as Acts & { isPatched?: true };
  if (acts.isPatched) return;
  acts.isPatched = true;
  for (const [name, byKeys] of Object.entries(BY_KEYS) as [keyof Acts, (...given: unknown[]) => Promise<unknown>][]) {
    const byMouse = acts[name];
    acts[name] = function (this: Locator, ...given) {
      return withoutMouse.has(this.page()) ? byKeys(this, ...given) : byMouse.apply(this, given);
    };
  }
}

/** What Tab does not reach, or reaches unseen, of what can be worked in a part of the page. Tab leads nowhere else. */
async function unreached(page: Page, part: string): Promise<string[]> {
  const wanted = new Map(
    await page.evaluate(
      ([where, what]) => {
        for (const found of document.querySelectorAll('[data-control]')) found.removeAttribute('data-control');
        const container = document.querySelector(where!)!;
        // A dialog that scrolls can have the focus itself.
        container.setAttribute('data-control', 'container');
        return [...container.querySelectorAll(what!)]
          .filter((element) => element.checkVisibility({ visibilityProperty: true }))
          .map((element, index): [string, string] => {
            element.setAttribute('data-control', String(index));
            return [String(index), element.outerHTML.slice(0, 150)];
          });
      },
      [part, CONTROLS],
    ),
  );
  const missed: string[] = [];
  // Some controls take several steps, such as those of a date.
  for (let steps = 2 * wanted.size + 20; steps > 0 && wanted.size > 0; steps -= 1) {
    await page.keyboard.press('Tab');
    const { isAtStart, isSeen, control, html } = await page.evaluate(focusIn, null);
    if (isAtStart) continue;
    if (control === null) missed.push(`outside: ${html}`);
    else if (!isSeen) missed.push(`unseen: ${html}`);
    wanted.delete(control ?? '');
  }
  return [...missed, ...[...wanted.values()].map((html) => `unreached: ${html}`)];
}

/** Buttons that do something at once, instead of opening a dialog. */
const ACTS =
  /^(Add this|Back|Build|Call with|Clear|Continue|Copy|Download|Earlier|Enable|Filters|Find|Let it|Make it a draft|Make the|New code|Next|Of all|Pause|Previous|Publish|Resume|Save|Send|Sign|Stop all|Test wallet|Try again)/;

/**
 * Asserts that all of the page is worked by the keyboard: Tab leads to every control, which shows the focus; each dialog
 * keeps the focus, is closed by Escape, and gives the focus back. Nothing has a role whose pattern asks for arrow keys.
 * @returns how many dialogs were opened.
 */
export async function expectKeyboardWell(page: Page, path: string): Promise<number> {
  expect([path, await unreached(page, 'body')]).toEqual([path, []]);
  expect(await page.locator('[role=tab], [role=menu], [role=menubar], [role=listbox], [role=radiogroup]').count()).toBe(
    0,
  );
  const dialog = page.locator('dialog[open]');
  const tried = new Set<string>();
  for (const button of await page.locator('main button:enabled').all()) {
    const name = await button.evaluate(({ firstChild }) => firstChild!.textContent!);
    if (tried.has(name) || ACTS.test(name) || !(await button.isVisible())) continue;
    tried.add(name);
    await button.focus();
    await page.keyboard.press('Enter');
    await dialog.waitFor();
    await dialog.locator('.skeleton').waitFor({ state: 'detached' });
    expect([path, name, await unreached(page, 'dialog[open]')]).toEqual([path, name, []]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    const focused = await page.evaluate(() => document.activeElement?.firstChild?.textContent);
    expect([path, name, focused]).toEqual([path, name, name]);
  }
  return tried.size;
}
