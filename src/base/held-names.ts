import { domainToUnicode } from 'node:url'

/**
 * First labels below the shared domain that software contacts automatically, or that people take for a part of the
 * server. A tunnel may use one only if an admin has reserved it.
 */
const HELD_LABELS = new Set([
  'account',
  'accounts',
  'admin',
  'administrator',
  'autoconfig',
  'autodiscover',
  'connect',
  'console',
  'dns',
  'ftp',
  'hostmaster',
  'imap',
  'isatap',
  'localhost',
  'login',
  'mail',
  'mta-sts',
  'mx',
  'pop',
  'pop3',
  'postmaster',
  'root',
  'security',
  'smtp',
  'sso',
  'webmail',
  'webmaster',
  'wpad',
  'www',
])

export const isHeldLabel = (label: string): boolean => HELD_LABELS.has(label)

/** Letters of other scripts, and of Latin beyond ASCII, that look like an ASCII letter and do not decompose into it. */
const homoglyphs: Readonly<Record<string, string>> = {
  ...pairs('аaвbсcԁdеeһhіiјjкkӏlмmнhоoрpԛqѕsтtуyѵvѡwԝwхxґrгr'),
  ...pairs('αaβbεeηnιiκkνvοoρpτtυuχxγyωw'),
  ...pairs('øođdħhıiłlŧtɑaɡgɩiʋvƅb'),
}

function pairs(text: string): Record<string, string> {
  const matched = text.matchAll(/(?<letter>.)(?<ascii>[a-z])/gu)
  return Object.fromEntries(Array.from(matched, ([, letter = '', ascii = '']) => [letter, ascii]))
}

/** The ASCII label that a label of another script looks like; undefined if none. */
export function readsAs(label: string): string | undefined {
  if (!label.startsWith('xn--')) return undefined
  const plain = domainToUnicode(label).normalize('NFKD').replaceAll(/\p{M}/gu, '')
  const letters = plain.replaceAll(/[^a-z0-9-]/gu, letter => homoglyphs[letter] ?? letter)
  return /^[a-z0-9-]+$/.test(letters) ? letters : undefined
}
