import { Secret } from '#base/secrets.ts'
import type { Setting } from '#base/settings/setting.ts'
import { settings, type SettingName, type Settings } from '#base/settings.ts'

/** What a reload has found. */
export interface SettingChanges {
  /** Applied. */
  readonly changed: readonly SettingName[]
  /** Changed too, but used only after a restart. */
  readonly restart: readonly SettingName[]
}

/** Compares the values of two readings. Secrets count, though their text shows none. */
export function changedSettings(current: Partial<Settings>, next: Partial<Settings>): SettingChanges {
  const names = Object.keys(settings) as SettingName[]
  const different = names.filter(name => comparable(current[name]) !== comparable(next[name]))
  const isApplied = (name: SettingName): boolean => (settings[name] as Setting<unknown>).reload === true
  return {
    changed: different.filter(isApplied),
    restart: different.filter(name => !isApplied(name)),
  }
}

/** What another reading has for these settings. */
export const picked = <All extends { readonly [Name in SettingName]?: unknown }>(
  names: readonly SettingName[],
  from: All,
): Partial<All> => Object.fromEntries(names.map(name => [name, from[name]])) as Partial<All>

function comparable(value: unknown): string | undefined {
  if (value instanceof Secret) return `secret ${value.reveal()}`
  if (value instanceof Map) return comparable([...value])
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return Object.entries(value)
    .map(([key, each]) => `${JSON.stringify(key)}:${comparable(each)}`)
    .join()
}
