/** The browser in a User-Agent field; empty if unknown. */
interface UserAgent {
  readonly raw: string
  readonly browser_name: string
  readonly browser_version: string
  readonly device_type: string
  readonly os_name: string
  readonly os_version: string
}

const MAX_RAW = 512

type Pattern = readonly [name: string, pattern: RegExp]

/** The first match: browsers also name those they descend from, so the more specific come first. */
const browsers: readonly Pattern[] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\/([\d.]{1,32})/],
  ['Opera', /\b(?:OPR|Opera)\/([\d.]{1,32})/],
  ['Samsung Internet', /\bSamsungBrowser\/([\d.]{1,32})/],
  ['Vivaldi', /\bVivaldi\/([\d.]{1,32})/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/([\d.]{1,32})/],
  ['Chrome', /\b(?:Chrome|CriOS|HeadlessChrome)\/([\d.]{1,32})/],
  ['Safari', /\bVersion\/([\d.]{1,32}) .{0,64}Safari\//],
  ['curl', /^curl\/([\d.]{1,32})/],
]

const systems: readonly Pattern[] = [
  ['Windows', /\bWindows NT ([\d.]{1,32})/],
  ['iOS', /\b(?:iPhone|iPad|iPod).{0,32} OS ([\d_]{1,32})/],
  ['Android', /\bAndroid ?([\d.]{0,32})/],
  ['ChromeOS', /\bCrOS \w{1,32} ([\d.]{1,32})/],
  ['macOS', /\bMac OS X ?([\d_.]{0,32})/],
  ['Linux', /\bLinux\b()/],
]

const devices: readonly Pattern[] = [
  ['bot', /bot\b|crawler|spider/i],
  ['tablet', /\biPad\b|\bTablet\b|\bAndroid\b(?!.*\bMobile\b)/],
  ['mobile', /\bMobile\b|\biPhone\b/],
  ['desktop', /\bWindows NT\b|\bMacintosh\b|\bX11\b|\bCrOS\b/],
]

function first(patterns: readonly Pattern[], text: string): readonly [name: string, version: string] {
  for (const [name, pattern] of patterns) {
    const found = pattern.exec(text)
    if (found) return [name, (found[1] ?? '').replaceAll('_', '.')]
  }
  return ['', '']
}

/** Good enough for a list of sessions; nothing depends on it. */
export function userAgentOf(text: string): UserAgent {
  const raw = text.slice(0, MAX_RAW).replace(/[^\x20-\x7e]/g, '')
  const [browser, browserVersion] = first(browsers, raw)
  const [system, systemVersion] = first(systems, raw)
  return {
    raw,
    browser_name: browser,
    browser_version: browserVersion,
    device_type: first(devices, raw)[0],
    os_name: system,
    os_version: systemVersion,
  }
}
