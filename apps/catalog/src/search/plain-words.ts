const FILLER = 0.25;
const GENERAL_WORD = 0.6;

/** Words that say that something is wanted, not what. */
export const FILLERS = new Set(
  `need want find get give make made let please help tell show look looking like know something someone things
  already ago yet still even ever never always often soon back now many much few several
  way use using used good best better new service services agent agents api tool able would could should must may might us really
  also just one ones here there any some lot say says said see try put take come go going got want wants needs finds gives
  makes me my i you somebody anybody everybody nobody anyone everyone anything everything nothing people person
  without within whether therefore because while until since before after again please today tomorrow yesterday next last
  year years week weeks month months day days possible really quite rather such than then too thing way ways kind sort
  like likes liked love afraid hope wish wonder think believe two three ten hundred thousand
  your it its we our they them he she his her who what which where when why how`.split(/\s+/),
);

/** Words for what many services do, so that they say less than what it is done to. */
const GENERAL = new Set(
  `lookup finder checker check checks checking analysis analyze analyzer analyzing generate generator generation generating
  make maker create creator creation converter convert conversion detect detector detection extract extractor extraction
  scan scanner scanning read reader tool app bot platform software system`.split(/\s+/),
);

/** How much a word says, whatever it is rare in. */
export const saying = (word: string): number =>
  (FILLERS.has(word) ? FILLER : GENERAL.has(word) ? GENERAL_WORD : 1) * (/^(?:[a-z]|\d+)$/.test(word) ? 0.5 : 1);

/** The American spelling of a word that may be British, whose stem differs. No listing has that of "promise". */
export function spellingsOf(word: string): string[] {
  const spelling = word
    .replace(/^([a-z]{4,})is(e|ed|es|er|ers|ing|ation|ations)$/, '$1iz$2')
    .replace(/^([a-z]{2,})lys(e|ed|es|er|ers|ing)$/, '$1lyz$2')
    .replace(/^(col|fav|behavi|neighb|lab|hon|harb|flav|rum|hum)our/, '$1or');
  return spelling === word ? [] : [spelling];
}
