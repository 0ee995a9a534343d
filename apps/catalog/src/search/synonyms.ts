import { wordsOf } from './words.js';

/**
 * Words and phrases that mean the same to a buyer of agents' services. Each line is a group; whoever asks for one of
 * them finds the others, too, further down. Inflected forms and other spellings of a compound need no line.
 */
const GROUPS = `
text to speech, tts, speech synthesis, voice synthesis, voiceover, voice over, read aloud, text into speech, narrate, narration, narrator
speech to text, stt, asr, speech recognition, transcription, transcribe, transcript, dictation, voice recognition
ocr, optical character recognition, text recognition, scanned text, extract text from image, handwriting
cv, resume, curriculum vitae, lebenslauf
pii, personal data, personally identifiable information, personal information
anonymize, redact, pseudonymize, de-identify, mask
ner, named entity recognition, entity extraction
rag, retrieval augmented generation
llm, language model, large language model
ai, artificial intelligence
ml, machine learning
nlp, natural language processing
mt, machine translation, translate, translation, translator, localization, localize, multilingual
fx, forex, foreign exchange, currency exchange, exchange rate, currency conversion, currency converter, currency
stock, share, equity, ticker
stock price, share price, stock quote, closing price
crypto, cryptocurrency, blockchain
nft, non fungible token
bg, background
background removal, remove background, cutout, cut out
image, picture, photo, photograph, pic
video, clip, footage, movie
sms, text message, texting
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
weather, forecast, meteo, weather forecast, temperature, rain, snow, warm
serp, search results, google results, web search, search engine
scrape, scraping, scraper, crawl, crawler, web extraction, web scraping
web page, webpage, website, web site, site, html
screenshot, screen capture, web capture
url shortener, short link, link shortener
qr, qr code
sentiment, opinion, mood
summarize, summary, summarization, tldr, abstract, digest, condense, shorten, recap
paraphrase, rewrite, rephrase
proofread, grammar, spelling, spell check, typos
plagiarism, copied text
ai text, ai written, written by ai, machine written, generated text
moderation, toxicity, toxic, hate speech, content safety, hateful, insult, insulting, abusive, offensive, harassment
profanity, swear word, curse word, obscene, bad words
spam, junk mail, unsolicited
email, mail
email verification, email validation, verify email, mailbox check, email checker, disposable email
invoice, bill, receipt
tax, vat
law, legal, attorney, lawyer
contract, agreement, clause
court, case law, judgment
ip address, ip
domain, dns, whois, domain name
ssl, tls, certificate
vulnerability, cve, security flaw
malware, virus
phishing, scam, fraud, malicious link, suspicious link
password, credential, login
leak, breach, exposed, pwned
monitor, monitoring, watch, alert
uptime, availability, downtime, outage, website down, site down, reachable
delivery, shipping, shipment, parcel, package, courier
track, tracking
schedule, scheduling, appointment, timetable
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
vector database, vector store, vector index
rerank, reranker, re-ranking
prompt injection, jailbreak
chart, graph, plot
diagram, flowchart, mermaid
code review, pull request review, pr review, static analysis, linter
unit test, test generation
ci, continuous integration
k8s, kubernetes
js, javascript
ts, typescript
py, python
cpp, cplusplus, c++
regex, regular expression
dedupe, deduplication, deduplicate, record linkage, entity resolution, merge duplicates, duplicates
job, vacancy, career, position
salary, pay, wage
recruit, recruiting, hiring, applicant, candidate
lead, prospect
company, business, firm, corporation, enterprise, organization
owner, own, shareholder, beneficial owner, ubo, ownership
employee, headcount, staff, workforce
revenue, turnover, sales, earnings, fundamentals
head office, headquarter, hq, company address
firmographics, company data, company enrichment
crm, customer relationship management
seo, search engine optimization
ad, advertisement, advertising
news, headlines, press, news article
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
music, song, melody, soundtrack
voice, speech
cloning, clone
image generation, generate image, text to image, picture generator, image generator, ai art, draw
reverse image search, image search
upscale, super resolution, enlarge, enhance, sharpen
restore, repair, colorize
logo, brand mark
barcode, ean, upc, gtin
timezone, time zone, local time
holiday, public holiday
address, postal address
postcode, zip code, postal code, zip
car, vehicle, auto
vin, vehicle identification number
train, railway, rail, timetable
transit, public transport, bus, tram, metro, subway
air quality, aqi, pollution, smog
earthquake, seismic
real estate, property, housing, apartment, house, rent
wallet, crypto address, blockchain address
gas, gas fee, network fee
transaction, tx, transfer
simulate transaction, transaction simulation, dry run, preflight, revert
ethereum, evm, eth
bitcoin, btc
solana, sol
solidity, smart contract
dex, swap
financial statement, filing, annual report, 10-k, balance sheet, fundamentals
eod, end of day
ohlc, candles
random, randomness
pdf, portable document format
convert, conversion, converter, transform
generate, generator, creator, maker
how many, count, counter
dollar, usd, currency
euro, eur, currency
pound, gbp, sterling, currency
yen, jpy, currency
yuan, cny, rmb, currency
reserve, reservation, book, booking, appointment
safe, risk, danger
money, payment, funds
check, checker, verify, verification, validate, validation
compare, comparison
classify, classification, classifier, categorize, categorization, label, intent
language detection, detect language, language identification, which language, identify language
anomaly, outlier, unusual
predict, prediction, forecasting, forecast
clean, cleanse, tidy
bookkeeping, accounting, ledger, accountant
bank statement, bank transaction, bank account
identity document, passport, id card, driving licence, driver license
selfie, face, liveness
face match, face recognition, face comparison, face verification
license plate, licence plate, number plate, alpr, anpr, plate recognition
server, vps, virtual machine, virtual private server, vm, linux box, shell
sandbox, code execution, run code, code interpreter
broken link, dead link, link checker, 404
movie, film, clip
describe, description, caption, captioning, alt text
interview, meeting, conversation, call recording
speaker, diarization
store, storage, keep, save
shop, e-commerce, ecommerce, online store, webshop
customer, client, buyer
review, rating, feedback, opinion
social media, twitter, reddit, facebook, instagram, tiktok, linkedin
podcast, episode, audio show
tokens, token count, token counter, tokenizer
context window, memory, long context, chat history, compress prompt
visa, entry requirement, immigration
restaurant, cafe, eatery
near me, nearby
licence, license
fake, forged, deepfake, manipulated
pollen, allergy
isochrone, travel time, reachable area
distance, distance matrix, drive time
fax, letter, post
sign, signature, e-signature, esign
compress, shrink, reduce size, minify
merge, combine, join
split, separate, cut
form, questionnaire, survey
logo, icon, emblem
website builder, landing page
test data, fake data, mock data, synthetic data
api, endpoint, rest
`;

/** Words of the field in other languages: a line has one meaning, and what a language says for it stands between slashes. */
const TRANSLATIONS = `
translate, translation, translator / ubersetzen, ubersetzung, ubersetzer / traduire, traduction / traducir, traduccion
/ traduzir, traducao / traduzione / vertaling / tlumacz, tlumaczenie / перевод, переводчик / ترجمة / अनुवाद / 翻訳 / 翻译 / 번역
text to speech, tts, speech synthesis / sprachausgabe, vorlesen, sprachsynthese / synthese vocale / sintesis de voz
/ sintese de voz / sintesi vocale / синтез речи, озвучка / वाणी संश्लेषण / 音声合成 / 语音合成 / 음성 합성
speech to text, transcribe, transcription, speech recognition / spracherkennung, transkription / reconnaissance vocale
/ reconocimiento de voz, transcripcion / transcricao / распознавание речи, расшифровка / 音声認識, 文字起こし / 语音识别 / 음성 인식
ocr, text recognition / texterkennung / reconnaissance de texte / reconocimiento de texto / распознавание текста / 文字認識 / 文字识别 / 문자 인식
summarize, summary / zusammenfassung, zusammenfassen / resume automatique / resumen, resumir / resumo / riassunto / streszczenie
/ краткое содержание / सारांश / 要約 / 摘要 / 요약
image, picture / bild, bilder / imagen, imagenes / imagem / immagine / obraz / изображение, изображений, картинка / صورة / छवि
/ 画像 / 图片, 图像 / 이미지
image generation, text to image / bildgenerator / generateur d'images / generador de imagenes / gerador de imagens
/ генератор изображений / 画像生成 / 图像生成 / 이미지 생성
background removal, remove background / hintergrund entfernen, freisteller / suppression d'arriere-plan, detourage
/ quitar fondo, eliminar fondo / remover fundo / удаление фона / 背景除去 / 去背景, 抠图 / 배경 제거
invoice / rechnung, rechnungen, rechnungserkennung / facture / factura / fatura / fattura / faktura / factuur / счет / فاتورة
/ चालान / 請求書 / 发票 / 송장
weather / wetter, wettervorhersage / meteo / clima, tiempo / previsao do tempo / pogoda / погода, погоды / الطقس / मौसम / 天気 / 天气 / 날씨
flight, flights / flug, fluge, flugsuche / vuelo, vuelos / voo, voos / volo, voli / авиабилет, рейс / رحلات / 航空券 / 航班, 机票 / 항공권
hotel, accommodation / unterkunft / hebergement / alojamiento / hospedagem / отель, гостиница / فندق / ホテル / 酒店 / 호텔
train, timetable / bahn, fahrplan, fahrplanauskunft / horaires / tren, horarios / trem / treno / pociag, rozklad jazdy / поезд
/ 電車 / 火车 / 기차
parcel, package / paket, sendung / colis / paquete / encomenda / pacco / paczka, przesylka / посылка / 荷物 / 快递 / 택배
track, tracking / sendungsverfolgung / suivi / rastreo, seguimiento / rastreamento / sledzenie / отслеживание / 追跡 / 查询 / 추적
currency, exchange rate / wahrung, wechselkurs / devise, taux de change / divisa, tipo de cambio / cambio, cotacao / kurs walut
/ курс валют / 為替 / 汇率 / 환율
stock price, share price, stock quotes / aktienkurs, aktienkurse / cours de bourse / cotizacion / cotacao de acoes / котировки
/ 株価 / 股价, 股票 / 주가
sentiment, opinion / stimmung / avis / opiniones, sentimiento / sentimento / тональность / 感情 / 情感 / 감정
company register, company registry / handelsregister, handelsregisterauszug / registre du commerce / registro mercantil / krs
/ егрюл / 登記 / 工商信息 / 법인 등기
company / unternehmen, firma / entreprise, societe / empresa / azienda / компания / شركة / 会社 / 公司, 企业 / 회사
contract / vertrag / contrat / contrato / contratto / umowa / договор / عقد / 契約 / 合同 / 계약
legal, law / recht / juridique, droit / juridico, legislacion / prawny, prawo / юридический, право / قانون / 法律 / 법률
news / nachrichten / actualites / noticias / notizie / wiadomosci / новости / أخبار / समाचार / ニュース / 新闻 / 뉴스
recipe / rezept / recette / receta / receita / ricetta / przepis / рецепт / وصفة / レシピ / 菜谱 / 레시피
address / adresse, anschrift / direccion / endereco / indirizzo / adres / адрес / عنوان / 住所 / 地址 / 주소
search / suche / recherche / busqueda, buscador / busca / ricerca / wyszukiwanie / поиск / بحث / खोज / 検索 / 搜索 / 검색
photo / foto / фото / 写真 / 照片 / 사진
email, mail / courriel / correo / почта / بريد / メール / 邮件, 邮箱 / 이메일
job, jobs / stelle, stellenanzeige / emploi / empleo / emprego / lavoro / praca / вакансия / وظيفة / 求人 / 招聘 / 채용
cv, resume / lebenslauf / curriculo / zyciorys / резюме / سيرة ذاتية / 履歴書 / 简历 / 이력서
tax / steuer / impot / impuesto / imposto / podatek / налог / ضريبة / 税 / 세금
`;

/** A word or phrase, and the others of its group, in its own language and in others. */
export interface Synonym {
  words: string[];
  others: string[][];
  foreign: string[][];
}

const wordsIn = (text: string): string[] =>
  wordsOf(text)
    .filter(({ isJoined }) => !isJoined)
    .map(({ word }) => word);

const LINES: readonly Synonym[] = `${GROUPS}${TRANSLATIONS}`
  .replaceAll('\n/', ' /')
  .split('\n')
  .filter(Boolean)
  .flatMap((line) => {
    const languages = line.split(' / ').map((said) => said.split(', ').map(wordsIn));
    return languages.flatMap((said, language) =>
      said.map((words, index) => ({
        words,
        others: said.filter((_, at) => at !== index),
        foreign: languages.filter((_, at) => at !== language).flat(),
      })),
    );
  });

/** Each word and phrase once, with all that its groups say. */
export const SYNONYMS: readonly Synonym[] = [
  ...LINES.reduce((known, { words, others, foreign }) => {
    const before = known.get(words.join(' '));
    return known.set(words.join(' '), {
      words,
      others: [...(before?.others ?? []), ...others],
      foreign: [...(before?.foreign ?? []), ...foreign],
    });
  }, new Map<string, Synonym>()).values(),
];
