/** What services are about, the most common first: English, so that stemming has its work. */
const SUBJECTS = `data search text image market price weather news report document company language video audio customer
  translation forecast payment code test security risk contract invoice map route travel flight hotel stock token wallet
  chain transaction address identity fraud domain email calendar meeting contact sales product review catalog inventory
  order shipping warehouse vehicle traffic energy water climate satellite crop soil forest ocean species protein molecule
  gene disease drug patient clinic insurance claim policy law court patent trademark tax audit ledger budget salary resume
  job school course exam book recipe food restaurant sport match player game music song podcast voice speech subtitle photo
  portrait logo font color layout website page link crawler sitemap keyword ranking advert campaign audience survey poll vote
  citizen city street building rent mortgage loan credit bond fund option future currency exchange`;

const QUALITIES = `fast real-time daily historical global local verified private open structured clean live precise simple
  automatic multilingual regional hourly bulk streaming certified independent compact deep semantic trusted curated raw
  annotated seasonal premium basic`;

const DEEDS = `translate summarize classify extract enrich convert compare verify detect monitor predict generate transcribe
  recognize index rank clean merge validate score annotate schedule convert archive deliver explain measure estimate track
  match review`;

const ONSETS = ['b', 'br', 'c', 'cl', 'd', 'dr', 'f', 'fl', 'g', 'gr', 'h', 'j', 'k', 'l', 'm', 'n', 'p', 'pr', 'qu', 'r', 's', 'sk', 'st', 't', 'tr', 'v', 'w', 'z'];
const RHYMES = ['ab', 'ack', 'adi', 'al', 'amo', 'an', 'ara', 'ato', 'el', 'emi', 'en', 'era', 'eto', 'il', 'imo', 'in', 'ira', 'ola', 'om', 'ona', 'or', 'ova', 'ul', 'umi', 'un', 'uro'];

const listOf = (text: string): string[] => text.split(/\s+/);

const subjects = listOf(SUBJECTS);
export const SAMPLE_QUALITIES = listOf(QUALITIES);
export const SAMPLE_DEEDS = listOf(DEEDS);

/** Subjects, then names nobody has heard of, without end: each number its own word. */
export const sampleSubject = (number: number): string => subjects[number] ?? coined(number - subjects.length);

const SYLLABLES = ONSETS.length * RHYMES.length;
const PAIRS = SYLLABLES ** 2;

/** Steps through every two syllables, none of them twice, then through every three, and so on. */
function coined(number: number): string {
  const step = ((number % PAIRS) * 7_919) % PAIRS;
  const pair = syllable(step % SYLLABLES) + syllable(Math.floor(step / SYLLABLES));
  return number < PAIRS ? pair : pair + syllable((Math.floor(number / PAIRS) - 1) % SYLLABLES);
}

const syllable = (index: number): string => ONSETS[index % ONSETS.length]! + RHYMES[Math.floor(index / ONSETS.length)]!;
