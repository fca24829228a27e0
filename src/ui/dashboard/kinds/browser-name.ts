/** Parts of user agents with the browser they are of, in order: most browsers also name those that they descend from. */
const browsers = [
  ['Edg', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['CriOS/', 'Chrome'],
  ['FxiOS/', 'Firefox'],
  ['Safari/', 'Safari'],
] as const

const systems = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Mac OS X', 'macOS'],
  ['Windows', 'Windows'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const

const found = (list: typeof browsers | typeof systems, userAgent: string): string | undefined =>
  list.find(([part]) => userAgent.includes(part))?.[1]

/** "Firefox on Windows"; the first word of a user agent that is not known. */
export function browserName(userAgent: string): string {
  const browser = found(browsers, userAgent) ?? userAgent.split(/[\s/]/)[0]
  const system = found(systems, userAgent)
  return `${browser || 'Unknown browser'}${system === undefined ? '' : ` on ${system}`}`
}
