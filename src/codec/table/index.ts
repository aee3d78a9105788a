export {
  checkTransform,
  type ListMeta,
  type MetaVersion,
  toPartialObjectMetadata,
  toPartialObjectMetadataList,
} from './partial.ts';
export { type IncludeObject, parseIncludeObject, type TableOptions, toTable } from './table.ts';
