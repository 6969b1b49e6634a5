# SPDX-License-Identifier: Apache-2.0
orders = [1, 2
print(orders)
