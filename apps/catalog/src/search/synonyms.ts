import { wordsOf } from './words.js';

/**
 * Words and phrases that mean the same to a buyer of agents' services. Each line is a group; whoever asks for one of
 * them finds the others, too, further down. Inflected forms and other spellings of a compound need no line.
 */
const GROUPS = `
text to speech, tts, speech synthesis, voice synthesis, voiceover, read aloud, text into speech
speech to text, stt, asr, speech recognition, transcription, transcribe, dictation, voice recognition
ocr, optical character recognition, text recognition, scanned text, extract text from image
cv, resume, curriculum vitae, lebenslauf
pii, personal data, personally identifiable information, personal information
anonymize, redact, pseudonymize, de-identify, mask
ner, named entity recognition, entity extraction
rag, retrieval augmented generation
llm, language model, large language model
ai, artificial intelligence
ml, machine learning
nlp, natural language processing
mt, machine translation, translate, translation, translator, localization
fx, forex, foreign exchange, currency exchange, exchange rate, currency conversion, currency converter
stock, share, equity
crypto, cryptocurrency, blockchain
nft, non fungible token
bg, background
background removal, remove background, cutout, cut out
image, picture, photo, photograph, pic
video, clip, footage, movie
sms, text message
phone, telephone, cellphone, mobile, smartphone
otp, one time password, verification code, one time code
2fa, mfa, two factor authentication, multi factor authentication
kyc, know your customer, identity verification, id verification
kyb, know your business, business verification, company registry, company register
aml, anti money laundering, sanctions, pep
geocode, geocoding, lat lon, latitude longitude, coordinates
geoip, ip geolocation, ip lookup, ip location
route, directions, routing, itinerary
poi, points of interest, places
hotel, accommodation, lodging
flight, airfare, plane
trip, travel, journey, vacation, holiday
weather, forecast, meteo
serp, search results, google results
scrape, scraping, scraper, crawl, crawler, web extraction
screenshot, screen capture, web capture
url shortener, short link, link shortener
qr, qr code
sentiment, opinion, mood
summarize, summary, summarization, tldr, abstract, digest
paraphrase, rewrite, rephrase
proofread, grammar, spelling, spell check
plagiarism, copied text
moderation, toxicity, hate speech, content safety
spam, junk mail, unsolicited
email, mail
email verification, email validation, verify email, mailbox check
invoice, bill, receipt
tax, vat
law, legal, attorney, lawyer
contract, agreement
court, case law, judgment
ip address, ip
domain, dns, whois
ssl, tls, certificate
vulnerability, cve, security flaw
malware, virus
phishing, scam, fraud
password, credential
leak, breach, exposed
monitor, monitoring, watch, alert
uptime, availability, downtime
delivery, shipping, shipment, parcel, package, courier
track, tracking
schedule, scheduling, appointment
calendar, meeting
meeting notes, meeting minutes, minutes
slides, presentation, powerpoint, pptx, deck, slideshow
spreadsheet, excel, xlsx
word document, docx
csv, comma separated
db, database
sql, query
vector search, similarity search, nearest neighbor, ann
embedding, vector
rerank, reranker, re-ranking
prompt injection, jailbreak
chart, graph, plot
diagram, flowchart, mermaid
code review, pull request review, pr review
unit test, test generation
ci, continuous integration
k8s, kubernetes
js, javascript
ts, typescript
py, python
cpp, cplusplus, c++
regex, regular expression
dedupe, deduplication, deduplicate, record linkage, entity resolution, merge duplicates
job, vacancy, career, position
salary, pay, wage
recruit, recruiting, hiring, applicant, candidate
lead, prospect
crm, customer relationship management
seo, search engine optimization
ad, advertisement, advertising
news, headlines, press
paper, research paper, academic, scholarly, scientific
patent, invention, prior art
trademark, brand name
drug, medication, medicine
disease, illness, diagnosis
dna, genome, genomic
protein, amino acid
chemical, molecule, compound
calorie, nutrition
recipe, cooking
translate subtitles, subtitle translation
subtitle, caption, srt, vtt
noise reduction, denoise, noise removal
music, song
voice, speech
cloning, clone
image generation, generate image, text to image, picture generator, image generator, ai art
upscale, super resolution, enlarge
logo, brand mark
barcode, ean, upc, gtin
timezone, time zone
holiday, public holiday
address, postal address
postcode, zip code, postal code, zip
car, vehicle, auto
vin, vehicle identification number
train, railway, rail
air quality, aqi, pollution
earthquake, seismic
real estate, property, housing
wallet, crypto address, blockchain address
gas, gas fee
solidity, smart contract
dex, swap
financial statement, filing, annual report, 10-k
eod, end of day
ohlc, candles
random, randomness
pdf, portable document format
convert, conversion, converter, transform
generate, generator, creator, maker
how many, count, counter
dollar, usd
euro, eur
pound, gbp, sterling
yen, jpy
reserve, reservation, book, booking, appointment
safe, risk, danger
money, payment, funds
check, checker, verify, verification, validate, validation
compare, comparison
`
  .trim()
  .split('\n')
  .map((line) => line.split(', '));

/** A word or phrase, and the others of its group. */
export interface Synonym {
  words: string[];
  others: string[][];
}

const wordsIn = (text: string): string[] =>
  wordsOf(text)
    .filter(({ isJoined }) => !isJoined)
    .map(({ word }) => word);

export const SYNONYMS: readonly Synonym[] = GROUPS.flatMap((group) => {
  const all = group.map(wordsIn);
  return all.map((words, index) => ({ words, others: all.filter((_, at) => at !== index) }));
});
