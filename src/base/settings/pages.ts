import { colour, hintNetworks, logo, pageName } from '#base/page-values.ts'
import { url } from '#base/setting-values.ts'
import { type Setting, setting } from '#base/settings/setting.ts'

/** The theme of error pages. */
export const pageSettings = {
  page_name: setting({
    doc: 'Name on the pages of the gateway, such as error pages; Adit by default.',
    example: 'NAME',
    read: pageName,
    gateway: true,
  }),
  page_logo: setting({
    doc: 'Logo on these pages: a PNG, JPEG, WebP or SVG file of at most 32 KiB.',
    example: 'FILE',
    read: logo,
    gateway: true,
  }),
  page_accent: setting({
    doc: 'Colour of the top border and the links of these pages; links are made lighter or darker if they would be hard to read.',
    example: '#RRGGBB',
    read: colour,
    gateway: true,
  }),
  page_background: setting({
    doc: 'Background colour of these pages; in dark mode it is made darker.',
    example: '#RRGGBB',
    read: colour,
    gateway: true,
  }),
  page_hints: setting({
    doc: 'Who sees hints for the owner on error pages (causes, ports, commands, the link to the dashboard): on for all clients, off for none, or networks whose clients see them. Error code and request id are always shown.',
    example: 'on|off|CIDR,...',
    fallback: 'on',
    read: hintNetworks,
    gateway: true,
  }),
  page_dashboard_url: setting({
    doc: 'URL of the dashboard, for a link from error pages to the request there, which requires sign-in; no link by default.',
    example: 'URL',
    read: url,
    gateway: true,
  }),
} satisfies Record<string, Setting<unknown>>
