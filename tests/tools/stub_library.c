// Stands in for a library that is there and does not work: oneDNN's functions do nothing and
// succeed, but for the one that FAILING names. Without FAILING there is no function at all.
#ifdef FAILING
#include <string.h>

#define STUB(NAME)                                                                                 \
  int NAME() { return strcmp(#NAME, FAILING) == 0; }

STUB(dnnl_engine_create)
STUB(dnnl_stream_create)
STUB(dnnl_stream_destroy)
STUB(dnnl_memory_desc_create_with_strides)
STUB(dnnl_memory_desc_destroy)
STUB(dnnl_memory_create)
STUB(dnnl_memory_destroy)
STUB(dnnl_memory_set_data_handle)
STUB(dnnl_primitive_attr_create)
STUB(dnnl_primitive_attr_destroy)
STUB(dnnl_primitive_attr_set_scratchpad_mode)
STUB(dnnl_primitive_attr_set_post_ops)
STUB(dnnl_post_ops_create)
STUB(dnnl_post_ops_append_sum)
STUB(dnnl_post_ops_destroy)
STUB(dnnl_primitive_desc_destroy)
STUB(dnnl_primitive_create)
STUB(dnnl_primitive_destroy)
STUB(dnnl_primitive_execute)

size_t dnnl_memory_desc_get_size() { return 0; }
const void *dnnl_primitive_desc_query_md() { return 0; }

// Where it fails there is no plan, which is how oneDNN says that it has no such product.
int dnnl_matmul_primitive_desc_create(void **plan) {
  if (strcmp("dnnl_matmul_primitive_desc_create", FAILING) == 0)
    return 1;
  *plan = plan;
  return 0;
}
int dnnl_primitive_desc_query(const void *plan, int what, int index, const char **implementation) {
  *implementation = "stub";
  return 0;
}
#endif
