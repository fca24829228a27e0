import { changedSettings, picked, type SettingChanges } from '#base/changed-settings.ts'
import { fail } from '#base/errors.ts'
import { setLogLevel, type Log } from '#base/log.ts'
import type { SettingsReading, SettingSourceMap } from '#base/read-settings.ts'
import { SettingError } from '#base/setting-values.ts'
import type { Settings } from '#base/settings.ts'
import type { GatewayHandle } from '#cluster/gateway-handle.ts'

interface ReloadOptions {
  /** Shared by all parts: those that use a reloadable setting read it each time. */
  readonly settings: Settings
  /** Of these values. */
  readonly sources: SettingSourceMap
  /** Reads all settings again; throws a `SettingError`. */
  readonly read: () => SettingsReading
  readonly gateway: Pick<GatewayHandle, 'reload'>
  readonly log: Log
}

/** Applies the changed settings that need no restart; invalid settings change nothing. */
export const reloading = (options: ReloadOptions) => async (): Promise<SettingChanges> => reload(options)

function reload({ settings, sources, read, gateway, log }: ReloadOptions): SettingChanges {
  const next = readValid(read)
  const changes = changedSettings(settings, next.settings)
  const applied = picked(changes.changed, next.settings)
  Object.assign(settings, applied)
  Object.assign(sources, picked(changes.changed, next.sources))
  if (applied.log_level !== undefined) setLogLevel(log, applied.log_level)
  // All of them are settings of the gateway, or unused there.
  gateway.reload(applied)
  log.info({ changed: changes.changed, restart: changes.restart }, 'settings reloaded')
  return changes
}

function readValid(read: () => SettingsReading): SettingsReading {
  try {
    return read()
  } catch (error) {
    if (error instanceof SettingError) return fail('reload_invalid', { reason: error.message })
    throw error
  }
}
