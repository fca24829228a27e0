import { fullDocOf, type SettingSourceMap } from '#base/read-settings.ts'
import { Secret } from '#base/secrets.ts'
import type { Setting } from '#base/settings/setting.ts'
import { settings as declared, type SettingName, type Settings } from '#base/settings.ts'
import { MASK } from '#contract/kinds/request-capture.ts'
import type { EffectiveSettings } from '#contract/effective-settings.ts'

/** The value of every setting and where it comes from, without secrets. */
export function effectiveSettings(values: Settings, sources: SettingSourceMap): EffectiveSettings {
  const all = Object.entries<Setting<unknown>>(declared) as [SettingName, Setting<unknown>][]
  return {
    settings: all.map(([name, setting]) => {
      const source = sources[name]
      const isSecret = setting.secret === true || hasSecret(values[name])
      return {
        name,
        value: source === undefined ? null : isSecret ? MASK : withoutPassword(source.text),
        source: source?.from ?? null,
        origin: source === undefined || source.from === 'default' ? null : source.origin,
        default: setting.fallback ?? null,
        reloadable: setting.reload === true,
        doc: fullDocOf(setting),
      }
    }),
  }
}

function hasSecret(value: unknown): boolean {
  if (value instanceof Secret) return true
  if (value instanceof Map) return [...value.values()].some(hasSecret)
  return typeof value === 'object' && value !== null && Object.values(value).some(hasSecret)
}

/** A URL may contain a user and a password, before its last @ or as a parameter. */
const withoutPassword = (text: string): string =>
  text
    .replaceAll(/(:\/\/)[^/\s?#]*@/g, `$1${MASK}@`)
    .replaceAll(/([?&;][^=&;\s]*(?:pass|pwd|secret|token|key)[^=&;\s]*=)[^&;#\s]+/gi, `$1${MASK}`)
