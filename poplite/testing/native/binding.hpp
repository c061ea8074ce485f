// Connects arrays to the fields of a codelet and runs it, for tests.

#pragma once

#include <deque>
#include <memory>
#include <vector>

namespace stand_in {

struct Stopped {};

struct Binding {
  void *const *data;
  const std::size_t *sizes;
  std::deque<std::shared_ptr<void>> lists = {};

  template <class T> void bind(T &state) { state = *static_cast<T *>(next().first); }
  template <class T> void bind(poplar::Input<T> &field) { scalar<const T>(field); }
  template <class T> void bind(poplar::Output<T> &field) { scalar<T>(field); }
  template <class T> void bind(poplar::InOut<T> &field) { scalar<T>(field); }
  template <class T, poplar::VectorLayout l, unsigned a, bool i>
  void bind(poplar::Input<poplar::Vector<T, l, a, i>> &field) { vector<const T>(field); }
  template <class T, poplar::VectorLayout l, unsigned a, bool i>
  void bind(poplar::Output<poplar::Vector<T, l, a, i>> &field) { vector<T>(field); }
  template <class T, poplar::VectorLayout l, unsigned a, bool i>
  void bind(poplar::InOut<poplar::Vector<T, l, a, i>> &field) { vector<T>(field); }
  template <class T> void bind(poplar::Vector<T> &state) { vector<T>(state); }
  template <class T> void bind(poplar::Vector<poplar::Input<T>> &field) { list(field); }
  template <class T> void bind(poplar::Vector<poplar::Output<T>> &field) { list(field); }
  template <class T> void bind(poplar::Vector<poplar::InOut<T>> &field) { list(field); }

  static void use(unsigned workers) { poplar::MultiVertex::workers = workers; }

private:
  std::pair<void *, std::size_t> next() { return {*data++, *sizes++}; }
  template <class T> void scalar(Scalar<T> &field) { field.first = static_cast<T *>(next().first); }
  template <class T> void vector(Span<T> &field) {
    const auto [first, size] = next();
    field.first = static_cast<T *>(first);
    field.count = size;
  }
  template <class F> void list(Span<F> &field) {
    const std::size_t size = next().second;
    auto rows = std::make_shared<std::vector<F>>(size);
    for (F &row : *rows) bind(row);
    field.first = rows->data();
    field.count = size;
    lists.push_back(rows);
  }
};

} // namespace stand_in
