import { headerNames, onOff, text, wholeNumber } from '#base/setting-values.ts'
import { type Setting, setting } from '#base/settings/setting.ts'

/** Captured requests. */
export const captureSettings = {
  traffic_full_capture: setting({
    doc: 'Capture headers and bodies of all requests, for GET /requests/{id}/capture.',
    example: 'SWITCH',
    fallback: 'off',
    read: onOff,
    gateway: true,
  }),
  capture_memory_mib: setting({
    doc: 'MiB of captured headers and bodies that each gateway process keeps. The oldest of the owner who has most are evicted first.',
    example: 'COUNT',
    fallback: '64',
    read: wholeNumber(1, 4096),
    gateway: true,
  }),
  capture_body_kib: setting({
    doc: 'KiB that are captured of each body; the rest is only counted.',
    example: 'COUNT',
    fallback: '1024',
    read: wholeNumber(1, 8192),
    gateway: true,
  }),
  capture_dir: setting({
    doc: 'Folder where captures survive a restart; none by default. Each server needs its own. Its files have at most capture_memory_mib per gateway process, and no values of masked headers.',
    example: 'FOLDER',
    read: text,
    gateway: true,
  }),
  capture_masking: setting({
    doc: 'Hide the values of Authorization, Cookie, Set-Cookie, Proxy-Authorization and capture_masked_headers in captures.',
    example: 'SWITCH',
    fallback: 'on',
    read: onOff,
    gateway: true,
  }),
  capture_masked_headers: setting({
    doc: 'Further headers whose values are hidden in captures.',
    example: 'NAME,...',
    read: headerNames,
    gateway: true,
  }),
} satisfies Record<string, Setting<unknown>>
