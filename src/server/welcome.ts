import { join, relative } from 'node:path'
import type { Settings } from '#base/settings.ts'
import type { Running } from '#server/serve.ts'

/** What a person sees when the platform has started. */
export function welcome({ url, first, warnings }: Running, settings: Settings): string {
  const file = (name: string) => join(relative('.', settings.data_dir) || '.', name)
  const api = settings.api_url ?? url ?? 'off'
  const lines = [
    '',
    '  Adit is running.',
    '',
    `  API          ${api}`,
    `  Reference    ${api === 'off' ? 'off' : `${api}/docs`}`,
    ...(first
      ? [
          `  API key      ${first.apiKey.reveal()}`,
          `               shown only now, kept in ${file('api-key')}`,
        ]
      : []),
    '',
    ...(url === undefined ? [] : firstCall(api, file('api-key'), first !== undefined)),
    ...warnings.map(warning => `  Note: ${warning}`),
    ...(warnings.length > 0 ? [''] : []),
  ]
  return lines.join('\n') + '\n'
}

const firstCall = (api: string, keyFile: string, isFirst: boolean): string[] =>
  isFirst
    ? [
        '  A first call:',
        '',
        `    curl -H "Authorization: Bearer $(cat ${keyFile})" ${api}/self`,
        '',
        '  Press Ctrl-C to stop.',
        '',
      ]
    : ['  Press Ctrl-C to stop.', '']
