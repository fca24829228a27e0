export interface CatalogEntry {
  readonly number?: number
  readonly status: number
  readonly text: string
}
export const catalog = {} as const satisfies Record<string, CatalogEntry>
