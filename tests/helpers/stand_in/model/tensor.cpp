// Types, intervals and tensors of the stand-in.

#include <poplar/Interval.hpp>
#include <poplar/Tensor.hpp>
#include <poplar/exceptions.hpp>

#include <algorithm>
#include <numeric>

namespace {

const stand_in::Kind KINDS[] = {
    {"bool", 1},           {"char", 1}, {"signed char", 1},  {"unsigned char", 1}, {"short", 2},
    {"unsigned short", 2}, {"int", 4},  {"unsigned int", 4}, {"long long", 8},     {"unsigned long long", 8},
    {"half", 2},           {"float", 4}};

std::size_t product(const std::vector<std::size_t> &shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t(1), std::multiplies<std::size_t>());
}

// Makes a tensor whose dimension `dimension` reads the listed indices.
poplar::Tensor taken(const poplar::Tensor &from, unsigned dimension,
                     const std::vector<std::size_t> &indices) {
  const auto &shape = from.view.shape;
  if (dimension >= shape.size()) throw poplar::index_error("no dimension " + std::to_string(dimension));
  std::size_t outer = 1, inner = 1;
  for (std::size_t k = 0; k < dimension; ++k) outer *= shape[k];
  for (std::size_t k = dimension + 1; k < shape.size(); ++k) inner *= shape[k];
  poplar::Tensor made;
  made.view.kind = from.view.kind;
  made.view.shape = shape;
  made.view.shape[dimension] = indices.size();
  made.view.elements.reserve(outer * indices.size() * inner);
  for (std::size_t o = 0; o < outer; ++o)
    for (const std::size_t index : indices) {
      const auto begin =
          from.view.elements.begin() + static_cast<std::ptrdiff_t>((o * shape[dimension] + index) * inner);
      made.view.elements.insert(made.view.elements.end(), begin, begin + static_cast<std::ptrdiff_t>(inner));
    }
  return made;
}

std::vector<std::size_t> counting(std::size_t begin, std::size_t end) {
  std::vector<std::size_t> indices(end - begin);
  std::iota(indices.begin(), indices.end(), begin);
  return indices;
}

} // namespace

namespace poplar {

const Type BOOL(&KINDS[0]), CHAR(&KINDS[1]), SIGNED_CHAR(&KINDS[2]), UNSIGNED_CHAR(&KINDS[3]),
    SHORT(&KINDS[4]);
const Type UNSIGNED_SHORT(&KINDS[5]), INT(&KINDS[6]), UNSIGNED_INT(&KINDS[7]), LONGLONG(&KINDS[8]);
const Type UNSIGNED_LONGLONG(&KINDS[9]), HALF(&KINDS[10]), FLOAT(&KINDS[11]);

std::string Type::toString() const { return kind->name; }
bool Type::operator==(const Type &other) const { return kind == other.kind; }

Interval::Interval(std::size_t begin, std::size_t end) : first(begin), last(end) {
  if (end < begin) throw index_error("an interval ends before it begins");
}
std::size_t Interval::begin() const { return first; }
std::size_t Interval::end() const { return last; }

std::size_t Tensor::numElements() const { return view.elements.size(); }
std::size_t Tensor::rank() const { return view.shape.size(); }
Type Tensor::elementType() const { return Type(view.kind); }

Tensor Tensor::flatten() const {
  Tensor made(*this);
  made.view.shape = {numElements()};
  return made;
}

Tensor Tensor::reshape(ArrayRef<std::size_t> shape) const {
  Tensor made(*this);
  made.view.shape.assign(shape.begin(), shape.end());
  if (product(made.view.shape) != numElements())
    throw tensor_creation_error("reshape to another number of elements");
  return made;
}

Tensor Tensor::slice(std::size_t begin, std::size_t end, unsigned dimension) const {
  if (dimension >= rank() || end < begin || end > view.shape[dimension])
    throw index_error("slice " + std::to_string(begin) + " to " + std::to_string(end) + " is outside");
  return taken(*this, dimension, counting(begin, end));
}

Tensor Tensor::subSample(unsigned stride, unsigned dimension) const {
  if (dimension >= rank() || stride == 0)
    throw index_error("no sub-sample of stride " + std::to_string(stride));
  std::vector<std::size_t> indices;
  for (std::size_t k = 0; k < view.shape[dimension]; k += stride) indices.push_back(k);
  return taken(*this, dimension, indices);
}

Tensor Tensor::reverse(unsigned dimension) const {
  if (dimension >= rank()) throw index_error("no dimension " + std::to_string(dimension));
  auto indices = counting(0, view.shape[dimension]);
  std::reverse(indices.begin(), indices.end());
  return taken(*this, dimension, indices);
}

Tensor Tensor::reinterpret(const Type &type) const {
  Tensor made(*this);
  made.view.kind = type.kind;
  if (made.view.kind->size != view.kind->size) throw type_error("elements of another size");
  return made;
}

Tensor Tensor::broadcast(unsigned N, unsigned dimension) const {
  if (dimension >= rank()) throw index_error("no dimension " + std::to_string(dimension));
  std::vector<std::size_t> indices;
  for (unsigned k = 0; k < N; ++k)
    for (std::size_t i = 0; i < view.shape[dimension]; ++i) indices.push_back(i);
  return taken(*this, dimension, indices);
}

Tensor concat(ArrayRef<Tensor> ts, unsigned dimension) {
  if (ts.size() == 0 || dimension != 0)
    throw tensor_creation_error("the stand-in joins tensors along dimension 0");
  Tensor made(ts[0]);
  for (std::size_t k = 1; k < ts.size(); ++k) {
    const stand_in::View &next = ts[k].view;
    auto &shape = made.view.shape;
    if (next.kind != made.view.kind) throw type_error("concat of tensors of two types");
    if (shape.empty() || shape.size() != next.shape.size() ||
        !std::equal(shape.begin() + 1, shape.end(), next.shape.begin() + 1))
      throw tensor_creation_error("concat of tensors of other shapes");
    shape[0] += next.shape[0];
    made.view.elements.insert(made.view.elements.end(), next.elements.begin(), next.elements.end());
  }
  return made;
}

} // namespace poplar
